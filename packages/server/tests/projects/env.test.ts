// gate: also on PostgreSQL, since changes of different variables meet
import { type EnvVariable, limits, secretMask } from '@berth/contract'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type ProjectSignal, projectsTopic } from '../../src/modules/projects/index.ts'
import { createScrubber } from '../../src/platform/secrets/scrubber.ts'
import type { Answer } from '../kit/call.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, type People } from '../kit/people.ts'
import { callsOn, makeProject } from '../kit/projects.ts'

const scrubber = createScrubber()
let instance: TestInstance
let people: People
let on: ReturnType<ReturnType<typeof callsOn>>
let projectId: string
beforeAll(async () => {
  instance = await startInstance({}, { scrubber })
  people = await makePeople(instance)
})
beforeEach(async () => {
  const project = await makeProject(instance, people.member.token)
  projectId = project.id
  on = callsOn(instance, people.member.token)(project)
})
afterAll(() => instance.stop())

const change = (body: object) => on('PATCH', '/env', body)
const read = async (environment?: string): Promise<EnvVariable[]> =>
  (await on('GET', '/env', undefined, { query: environment ? { environment } : {} })).body.data
const opened = (environment = 'production') => instance.projects.openEnv(projectId, environment)
const inShort = (variables: EnvVariable[]) => variables.map(({ key, value, isSecret }) => [key, value, isSecret])
const refusal = ({ status, body }: Answer) => [status, body.code, body.field]

describe('PATCH /projects/:id/env', () => {
  test('signals that no route changed; a change of the port does not', async () => {
    const events: object[] = []
    const end = instance.database.signals.subscribe<ProjectSignal>(projectsTopic, (event) => events.push(event))
    await change({ upserts: [{ key: 'A', value: 'a' }] })
    await expect.poll(() => events).toEqual([{ projectId, sameRoutes: true }])
    await on('PATCH', '', { port: 4321 })
    await expect.poll(() => events.slice(1)).toEqual([{ projectId }])
    end()
  })
  test('merges: upserts insert or update, deletes remove, and all other keys are unchanged', async () => {
    await change({
      upserts: [
        { key: 'KEPT', value: 'as it was', isSecret: true },
        { key: 'CHANGED', value: 'before' },
        { key: 'GONE', value: 'x' },
      ],
    })
    const { status, body } = await change({
      upserts: [
        { key: 'CHANGED', value: 'after' },
        { key: 'NEW', value: 'y' },
      ],
      deletes: ['GONE', 'NEVER_THERE'],
    })
    expect(status).toBe(200)
    expect(inShort(body.data)).toEqual([
      ['CHANGED', 'after', false],
      ['KEPT', secretMask, true],
      ['NEW', 'y', false],
    ])
    expect(body.data).toEqual(await read())
    expect(body.data[0]).toMatchObject({ environment: 'production', updatedAt: expect.stringMatching(/Z$/) })
    expect((await opened()).values).toEqual({ CHANGED: 'after', KEPT: 'as it was', NEW: 'y' })
  })

  test.each([
    ['PORT', 'app', true],
    ['PORT', 'services', true],
    ['PORT', 'worker', false],
    ['PORT', 'static', false],
    ['port', 'app', false],
    ['HOST', 'app', false],
  ])('%s of a project of type %s has a warning that Berth sets it: %s', async (key, type, isNamed) => {
    await on('PATCH', '', { type })
    const { status, body } = await change({ upserts: [{ key, value: '9000' }] })
    expect(status).toBe(200)
    expect(inShort(body.data)).toEqual([[key, '9000', false]])
    expect(body.warnings).toEqual(isNamed ? [expect.stringContaining('PORT is set by Berth')] : undefined)
    expect((await change({ deletes: [key] })).body.warnings).toBeUndefined()
  })

  test('keys that are not named keep value and secrecy, byte for byte', async () => {
    await change({ upserts: [{ key: 'A', value: 'one', isSecret: true }] })
    const row = () =>
      instance.database.db
        .selectFrom('envVariables')
        .selectAll()
        .where('key', '=', 'A')
        .where('projectId', '=', projectId)
        .executeTakeFirst()
    const before = await row()
    await change({ upserts: [{ key: 'B', value: 'two' }], deletes: ['C'] })
    expect(await row()).toEqual(before)
  })

  test('an empty string stays empty', async () => {
    await change({
      upserts: [
        { key: 'EMPTY', value: '' },
        { key: 'SECRET', value: '', isSecret: true },
      ],
    })
    expect((await opened()).values).toEqual({ EMPTY: '', SECRET: '' })
    expect(inShort(await read())).toEqual([
      ['EMPTY', '', false],
      ['SECRET', secretMask, true],
    ])
  })

  test('an omitted isSecret is unchanged on an update and false on an insert', async () => {
    await change({
      upserts: [
        { key: 'S', value: 'one', isSecret: true },
        { key: 'P', value: 'one' },
      ],
    })
    await change({
      upserts: [
        { key: 'S', value: 'two' },
        { key: 'P', value: 'two' },
      ],
    })
    expect(inShort(await read())).toEqual([
      ['P', 'two', false],
      ['S', secretMask, true],
    ])
    expect((await opened()).values.S).toBe('two')
  })

  test('an empty change changes nothing', async () => {
    await change({ upserts: [{ key: 'A', value: 'x' }] })
    const before = await read()
    expect((await change({})).body.data).toEqual(before)
  })

  test('there is no full-replace route', async () => {
    expect((await on('PUT', '/env', { A: 'b' })).status).toBe(404)
  })
})

describe('the mask of a secret', () => {
  test('keeps the stored value when sent back, and is never stored', async () => {
    await change({ upserts: [{ key: 'A', value: 'the value', isSecret: true }] })
    const before = await read()
    expect((await change({ upserts: [{ key: 'A', value: secretMask, isSecret: true }] })).body.data).toEqual(before)
    expect((await change({ upserts: [{ key: 'A', value: secretMask }] })).body.data).toEqual(before)
    expect((await opened()).values).toEqual({ A: 'the value' })
  })

  test('is 400 for a key without a stored value', async () => {
    expect(refusal(await change({ upserts: [{ key: 'NEW', value: secretMask, isSecret: true }] }))).toEqual([
      400,
      'validation_failed',
      'upserts.0.value',
    ])
    expect(await read()).toEqual([])
  })

  test('is 400 if it would make a secret readable', async () => {
    await change({ upserts: [{ key: 'A', value: 'the value', isSecret: true }] })
    expect(refusal(await change({ upserts: [{ key: 'A', value: secretMask, isSecret: false }] }))[2]).toBe('upserts.0.isSecret')
    expect(inShort(await read())).toEqual([['A', secretMask, true]])
  })

  test('can make a plain value secret without sending it again', async () => {
    await change({ upserts: [{ key: 'A', value: 'plain at first' }] })
    await change({ upserts: [{ key: 'A', value: secretMask, isSecret: true }] })
    expect(inShort(await read())).toEqual([['A', secretMask, true]])
    expect((await opened()).values.A).toBe('plain at first')
    expect(scrubber.scrub('it was plain at first')).toBe('it was [secret]')
  })
})

describe('400, and nothing changes', () => {
  const big = 'x'.repeat(limits.envValueBytes + 1)
  test.each([
    [
      'a key twice',
      'upserts.1.key',
      {
        upserts: [
          { key: 'B', value: '1' },
          { key: 'B', value: '2' },
        ],
      },
    ],
    ['a key in both lists', 'deletes.0', { upserts: [{ key: 'B', value: '1' }], deletes: ['B'] }],
    ['a key twice in deletes', 'deletes.1', { deletes: ['A', 'A'] }],
    ['a key that is no name', 'upserts.0.key', { upserts: [{ key: '1A', value: '' }] }],
    ['a key with a sign', 'upserts.0.key', { upserts: [{ key: 'A-B', value: '' }] }],
    ['an empty key', 'upserts.0.key', { upserts: [{ key: '', value: '' }] }],
    ['a key of 257 characters', 'upserts.0.key', { upserts: [{ key: 'A'.repeat(257), value: '' }] }],
    ['no value', 'upserts.0.value', { upserts: [{ key: 'B' }] }],
    ['a number for a value', 'upserts.0.value', { upserts: [{ key: 'B', value: 1 }] }],
    ['null for a value', 'upserts.0.value', { upserts: [{ key: 'B', value: null }] }],
    ['isSecret that is no boolean', 'upserts.0.isSecret', { upserts: [{ key: 'B', value: '', isSecret: 'yes' }] }],
    ['a value over 64 KiB', 'upserts.0.value', { upserts: [{ key: 'B', value: big }] }],
    [
      'a value over 64 KiB in bytes alone',
      'upserts.1.value',
      {
        upserts: [
          { key: 'B', value: '' },
          { key: 'C', value: '€'.repeat(21_846) },
        ],
      },
    ],
    ['a NUL in a value', 'upserts.0.value', { upserts: [{ key: 'B', value: 'a\0b' }] }],
    ['half a surrogate pair', 'upserts.0.value', { upserts: [{ key: 'B', value: 'a\ud83d' }] }],
    ['an unknown environment', 'environment', { environment: 'nowhere', upserts: [{ key: 'B', value: '' }] }],
    [
      'a good and a bad one',
      'upserts.1.value',
      {
        upserts: [
          { key: 'A', value: 'changed' },
          { key: 'B', value: 'a\0' },
        ],
        deletes: ['C'],
      },
    ],
  ])('%s', async (_, field, body) => {
    await change({
      upserts: [
        { key: 'A', value: 'as it was', isSecret: true },
        { key: 'C', value: 'too' },
      ],
    })
    const before = await read()
    expect(refusal(await change(body))).toEqual([400, 'validation_failed', field])
    expect(await read()).toEqual(before)
    expect((await opened()).values).toEqual({ A: 'as it was', C: 'too' })
  })

  test('reading an unknown environment', async () => {
    const { status, body } = await on('GET', '/env', undefined, { query: { environment: 'nowhere' } })
    expect([status, body.field]).toEqual([400, 'environment'])
  })
})

describe('values', () => {
  test('may have up to 64 KiB in bytes', async () => {
    const value = `${'€'.repeat(21_845)}x`
    expect(Buffer.byteLength(value)).toBe(limits.envValueBytes)
    expect((await change({ upserts: [{ key: 'BIG', value }] })).status).toBe(200)
    expect((await opened()).values.BIG).toBe(value)
  })

  test('are byte-exact: quotes, $, #, newlines, unicode, emoji, anything', async () => {
    const tricky = fc.constantFrom(
      '"',
      "'",
      '`',
      '$HOME',
      '$',
      '{A}',
      '#',
      '\n',
      '\r\n',
      '\t',
      '\\',
      '\\n',
      '=',
      ' ',
      'é',
      'e\u0301',
      '日本',
      '👩‍👩‍👧',
      '\u202e',
      '\ufeff',
      '%41',
      '&amp;',
      '•',
    )
    const anyText = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 60 }),
      fc.array(tricky, { maxLength: 12 }).map((parts) => parts.join('')),
    )
    const value = anyText.map((text) => text.replaceAll('\0', '')).filter((text) => text !== secretMask)
    const variables = fc.uniqueArray(
      fc.record({ key: fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,20}$/), value, isSecret: fc.boolean() }),
      {
        minLength: 1,
        maxLength: 8,
        selector: ({ key }) => key,
      },
    )
    await fc.assert(
      fc.asyncProperty(variables, async (upserts) => {
        const { id } = await makeProject(instance, people.member.token)
        const { status, body } = await callsOn(instance, people.member.token)({ id })('PATCH', '/env', { upserts })
        expect(status).toBe(200)
        const sorted = upserts.toSorted((left, right) => (left.key < right.key ? -1 : 1))
        expect(inShort(body.data)).toEqual(
          sorted.map(({ key, value, isSecret }) => [key, isSecret ? secretMask : value, isSecret]),
        )
        const { values } = await instance.projects.openEnv(id, 'production')
        for (const { key, value } of upserts) expect(Buffer.from(values[key]!)).toEqual(Buffer.from(value))
        expect(Object.keys(values).sort()).toEqual(upserts.map(({ key }) => key).sort())
      }),
      { numRuns: 60 },
    )
  })

  test('can have the key __proto__ or constructor', async () => {
    await change({
      upserts: [
        { key: '__proto__', value: 'a' },
        { key: 'constructor', value: 'b' },
      ],
    })
    expect(Object.entries((await opened()).values).sort()).toEqual([
      ['__proto__', 'a'],
      ['constructor', 'b'],
    ])
  })

  test('are stored encrypted, plain ones too, each bound to its row', async () => {
    await change({
      upserts: [
        { key: 'A', value: 'readable?' },
        { key: 'B', value: 'readable?', isSecret: true },
      ],
    })
    const rows = await instance.database.db
      .selectFrom('envVariables')
      .select('value')
      .where('projectId', '=', projectId)
      .execute()
    expect(rows).toHaveLength(2)
    for (const { value } of rows) expect(value).toMatch(/^v1\.[0-9a-f]{8}\.[\w-]{16}\.[\w-]+$/)
    expect(new Set(rows.map(({ value }) => value)).size).toBe(2)
  })

  test('are scrubbed from the logs if secret, also if the key was secret before', async () => {
    await change({
      upserts: [
        { key: 'A', value: 'first secret value', isSecret: true },
        { key: 'P', value: 'a plain value' },
      ],
    })
    await change({ upserts: [{ key: 'A', value: 'second secret value' }] })
    expect(scrubber.scrub('first secret value, second secret value, a plain value')).toBe('[secret], [secret], a plain value')
  })
})

describe('environments', () => {
  test('have their own variables; production is the default', async () => {
    await on('POST', '/environments', { name: 'Staging' })
    await change({ upserts: [{ key: 'A', value: 'production' }] })
    await change({ environment: 'staging', upserts: [{ key: 'A', value: 'staging' }] })
    expect(inShort(await read())).toEqual([['A', 'production', false]])
    expect(inShort(await read('staging'))).toEqual([['A', 'staging', false]])
    expect((await opened('staging')).values).toEqual({ A: 'staging' })
  })

  test('concurrent changes are all kept', async () => {
    const keys = Array.from({ length: 12 }, (_, at) => `KEY_${at}`)
    const answers = await Promise.all(keys.map((key) => change({ upserts: [{ key, value: key }] })))
    expect(answers.map(({ status }) => status)).toEqual(keys.map(() => 200))
    expect((await read()).map(({ key }) => key).sort()).toEqual(keys.toSorted())
  })

  test('403: a viewer cannot change variables, and reads them without secrets', async () => {
    const viewer = callsOn(instance, people.viewer.token)({ id: projectId })
    await change({ upserts: [{ key: 'A', value: 'hidden away', isSecret: true }] })
    expect((await viewer('PATCH', '/env', { deletes: ['A'] })).status).toBe(403)
    const { status, body } = await viewer('GET', '/env')
    expect([status, inShort(body.data)]).toEqual([200, [['A', secretMask, true]]])
  })
})
