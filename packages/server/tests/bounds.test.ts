import { limits, type Method } from '@berth/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { changesCharacters, changesText } from '../src/modules/access/audit-changes.ts'
import { refuseLargeEnv } from '../src/modules/projects/settings/env-bounds.ts'
import { newId } from '../src/platform/db/ids.ts'
import { call } from './kit/call.ts'
import { startInstance, type TestInstance } from './kit/instance.ts'
import { makePeople, type People } from './kit/people.ts'
import { makeProject } from './kit/projects.ts'

/**
 * Every collection that a member can grow has a bound: what goes beyond it is refused with a message that names the bound, nothing of it is stored, and less
 * is allowed again. A new stored collection is a row here.
 */

let instance: TestInstance
let people: People
beforeAll(async () => {
  instance = await startInstance()
  people = await makePeople(instance)
})
afterAll(() => instance.stop())

type At = `${Method} /${string}`
interface TransactionContext {
  max: number
  /** The call that adds to the collection. */
  at: At
  body(step: number): object
  /** How many calls come close to the bound, or with `grow` after them. */
  steps: number
  grow?(projectId: string): Promise<void>
  field: string
  /** How much is stored. */
  size(projectId: string): Promise<number>
}

const text = (bytes: number) => 'x'.repeat(bytes)
const address = (step: number, at: number) => `10.${step}.${at >> 8}.${at & 255}`
const production = async (id: string) => {
  const { body } = await send('GET /projects/:id/env', id)
  return body.data as { key: string; value: string }[]
}
const rules = (id: string) => instance.database.db.selectFrom('routeRules').select('config').where('projectId', '=', id).execute()
/** The project's first rule, once more for each project. */
async function copyRule(from: string, projectIds: readonly string[]): Promise<void> {
  const { db } = instance.database
  const rule = await db.selectFrom('routeRules').selectAll().where('projectId', '=', from).executeTakeFirstOrThrow()
  await db
    .insertInto('routeRules')
    .values(projectIds.map((projectId) => ({ ...rule, projectId, id: newId('rul') })))
    .execute()
}
const variables = (step: number, count: number, bytes: number) => ({
  upserts: Array.from({ length: count }, (_, at) => ({ key: `V${step}_${at}`, value: text(bytes) })),
})

const bounds: Record<string, TransactionContext> = {
  'variables of an environment': {
    max: limits.envVariables,
    at: 'PATCH /projects/:id/env',
    body: (step) => variables(step, 1000, 1),
    steps: 1,
    field: 'upserts',
    size: async (id) => (await production(id)).length,
  },
  'bytes of the variables of an environment': {
    max: limits.envBytes,
    at: 'PATCH /projects/:id/env',
    body: (step) => variables(step, 8, 60_000),
    steps: 2,
    field: 'upserts',
    size: async (id) => (await production(id)).reduce((sum, { key, value }) => sum + key.length + value.length, 0),
  },
  'route rules of a project': {
    max: limits.rulesMaximum,
    at: 'POST /projects/:id/route-rules',
    body: () => ({ kind: 'ban', config: { ips: ['10.0.0.1'] } }),
    steps: 1,
    grow: (id) => copyRule(id, Array(limits.rulesMaximum - 1).fill(id)),
    field: 'config',
    size: async (id) => (await rules(id)).length,
  },
  'bytes of the route rules of a project': {
    max: limits.ruleBytes,
    at: 'POST /projects/:id/route-rules',
    body: (step) => ({ kind: 'ban', config: { ips: Array.from({ length: 10_000 }, (_, at) => address(step, at)) } }),
    steps: 3,
    field: 'config',
    size: async (id) => (await rules(id)).reduce((sum, { config }) => sum + config.length, 0),
  },
  'user agents in the route rules of a project': {
    max: limits.ruleUserAgents,
    at: 'POST /projects/:id/route-rules',
    body: (step) => ({ kind: 'ban', config: { userAgents: Array.from({ length: 500 }, (_, at) => `bot ${step} ${at}`) } }),
    steps: 2,
    field: 'config',
    size: async (id) => (await rules(id)).reduce((sum, { config }) => sum + JSON.parse(config).userAgents.length, 0),
  },
}

const send = (at: At, id: string, body?: object) =>
  call(instance, people.owner.token, at, { params: { id }, ...(body ? { body } : {}) })

describe.each(Object.entries(bounds))('%s', (_name, { max: most, at, body, steps, grow, field, size }) => {
  test('has a bound that the refusal names', async () => {
    const { id } = await makeProject(instance, people.owner.token)
    for (let step = 0; step < steps; step += 1) expect((await send(at, id, body(step))).status).toBeLessThan(300)
    await grow?.(id)
    const before = await size(id)
    expect(before).toBeGreaterThan(most / 2)
    const refused = await send(at, id, body(steps))
    expect([refused.status, refused.body.code, refused.body.field]).toEqual([400, 'validation_failed', field])
    expect(refused.body.error).toContain(String(most))
    expect(await size(id)).toBe(before)
  })
})

test('the variables of all environments of a project have a common bound', async () => {
  const { id } = await makeProject(instance, people.owner.token)
  const statuses: number[] = []
  for (let number = 0; number < 12 && statuses.at(-1) !== 400; number += 1) {
    const environment = `stage-${number}`
    await send('POST /projects/:id/environments', id, { name: environment, slug: environment })
    for (let step = 0; step < 2 && statuses.at(-1) !== 400; step += 1)
      statuses.push((await send('PATCH /projects/:id/env', id, { environment, ...variables(step, 8, 60_000) })).status)
  }
  expect(statuses.at(-1)).toBe(400)
  expect(statuses.length).toBeGreaterThan(8)
})

test('the route rules of all projects of an organisation have a common bound', async () => {
  const { owner } = await makePeople(instance)
  const [first, ...others] = await Promise.all(Array.from({ length: 20 }, () => makeProject(instance, owner.token)))
  const config = { ips: Array.from({ length: 10_000 }, (_, at) => `2001:db8:ffff:${at.toString(16)}::/64`) }
  const add = (body: object) => call(instance, owner.token, 'POST /projects/:id/route-rules', { params: { id: first!.id }, body })
  expect((await add({ kind: 'ban', config })).status).toBe(201)
  await copyRule(
    first!.id,
    others.map(({ id }) => id),
  )
  const refused = await add({ kind: 'ban', config: { ips: ['10.0.0.1'] } })
  expect([refused.status, refused.body.field]).toEqual([400, 'config'])
  expect(refused.body.error).toContain(String(limits.organizationRuleBytes))
})

test('an environment that exceeded the bound before the bound existed can be made smaller', () => {
  const before = { count: limits.envVariables + 100, bytes: limits.envBytes + 100 }
  const change = (after: typeof before) => () => refuseLargeEnv(after, 'upserts', 'production', before)
  expect(change({ count: before.count - 1, bytes: before.bytes - 1 })).not.toThrow()
  expect(change({ ...before, count: before.count + 1 })).toThrow(String(limits.envVariables))
  expect(change({ ...before, bytes: before.bytes + 1 })).toThrow(String(limits.envBytes))
})

describe('the audit log', () => {
  test('keeps a bounded part of a large body, with the original length', async () => {
    const { owner } = await makePeople(instance)
    const { id } = await makeProject(instance, owner.token)
    const ips = Array.from({ length: 10_000 }, (_, at) => address(1, at))
    const body = { kind: 'ban', pathPrefix: `/${text(400)}`, config: { ips } }
    expect((await call(instance, owner.token, 'POST /projects/:id/route-rules', { params: { id }, body })).status).toBe(201)
    const [row] = await instance.database.db
      .selectFrom('auditLog')
      .selectAll()
      .where('organizationId', '=', owner.organizationId)
      .orderBy('sequence', 'desc')
      .execute()
    expect(row?.changes.length).toBeLessThanOrEqual(changesCharacters)
    const { data } = (await call(instance, owner.token, 'GET /audit-log')).body
    expect(data[0].changes).toMatchObject({ kind: 'ban', config: { ips: expect.arrayContaining(['10.1.0.0']) } })
    expect(data[0].changes.shortenedFrom).toBe(JSON.stringify(body).length)
  })

  test('returns a page without the complete bodies that an earlier version stored', async () => {
    const { owner } = await makePeople(instance)
    await call(instance, owner.token, 'POST /tokens', { body: { name: 'one' } })
    const { db } = instance.database
    const changes = JSON.stringify({ name: text(500_000) })
    await db.updateTable('auditLog').set({ changes }).where('organizationId', '=', owner.organizationId).execute()
    const { data } = (await call(instance, owner.token, 'GET /audit-log')).body
    expect(data).toHaveLength(1)
    expect(data[0]).toMatchObject({ action: 'POST /tokens', userEmail: owner.email, changes: { shortenedFrom: changes.length } })
  })

  test.each<[string, unknown]>([
    ['a long text', { name: text(1e6) }],
    ['a long list', { list: Array.from({ length: 1e5 }, (_, at) => at) }],
    ['many fields', Object.fromEntries(Array.from({ length: 1e4 }, (_, at) => [`field${at}`, at]))],
    ['long names', { [text(1e5)]: 1 }],
    [
      'many long texts in each other',
      { a: Array.from({ length: 300 }, () => ({ b: text(400), c: [text(400), { d: text(400) }] })) },
    ],
    ['depth', JSON.parse(`${'{"a":'.repeat(2000)}1${'}'.repeat(2000)}`)],
    ['nothing', undefined],
  ])('of %s keeps JSON within the bound', (_, changes) => {
    const kept = changesText(changes)
    expect(kept.length).toBeLessThanOrEqual(changesCharacters)
    expect(JSON.parse(kept)).toBeTypeOf('object')
  })
})
