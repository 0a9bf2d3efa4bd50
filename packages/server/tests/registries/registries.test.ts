// gate: also on PostgreSQL, since it is what reads and writes the tables of registries
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sealedColumns, sealedFor } from '../../src/platform/db/sealed-columns.ts'
import { SecretBoxError } from '../../src/platform/secrets/secret-box.ts'
import { type CallInput, call } from '../kit/call.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, type People } from '../kit/people.ts'

let instance: TestInstance
let people: People
let others: People
beforeAll(async () => {
  instance = await startInstance()
  people = await makePeople(instance)
  others = await makePeople(instance)
})
afterAll(() => instance?.stop())

type At = Parameters<typeof call>[2]
const as =
  (token: () => string) =>
  (at: At, input: CallInput = {}) =>
    call(instance, token(), at, input)
const member = as(() => people.member.token)
const outsider = as(() => others.owner.token)
const canary = 'registry-canary-4711'
const save = async (body: object = {}) =>
  member('POST /registries', { body: { host: 'registry.example.test', username: 'ann', password: canary, ...body } })
const stored = (id: string) =>
  instance.database.db.selectFrom('registryLogins').selectAll().where('id', '=', id).executeTakeFirstOrThrow()

describe('POST /registries', () => {
  test('201 with the login and without its password; the same host again replaces it', async () => {
    const first = await save({ host: 'GHCR.io' })
    expect(first).toMatchObject({
      status: 201,
      body: { data: { id: expect.stringMatching(/^reg_/), host: 'ghcr.io', username: 'ann' } },
    })
    const second = await save({ host: 'ghcr.io', username: 'ben', password: 'another password' })
    expect(second).toMatchObject({ status: 200, body: { data: { id: first.body.data.id, username: 'ben' } } })
    const { password } = await stored(first.body.data.id)
    const location = sealedFor.registryPassword(first.body.data.id, 'ghcr.io')
    expect(instance.secretBox.open(password, location).reveal()).toBe('another password')
  })

  test.each([
    ['index.docker.io', 'docker.io'],
    ['registry-1.docker.io', 'docker.io'],
    ['Registry.Example.test:5000', 'registry.example.test:5000'],
  ])('%s is %s', async (written, host) => expect((await save({ host: written })).body.data.host).toBe(host))

  test.each([
    ['a scheme', { host: 'https://ghcr.io' }, 'host'],
    ['a path', { host: 'ghcr.io/acme' }, 'host'],
    ['a user in the host', { host: 'ann@ghcr.io' }, 'host'],
    ['a colon in the user name, which Basic cannot carry', { username: 'a:b' }, 'username'],
    ['a line break in the password', { password: 'a\r\nb: c' }, 'password'],
    ['no password', { password: '' }, 'password'],
  ])('400: %s', async (_, body, field) => expect(await save(body)).toMatchObject({ status: 400, body: { field } }))
})

test('the password is in no answer, list or audit entry, and is sealed for its row and its host', async () => {
  const { body } = await save({ host: 'sealed.example.test' })
  const { id } = body.data
  const reported = [body, await member('GET /registries'), await as(() => people.owner.token)('GET /audit-log')]
  expect(JSON.stringify(reported)).not.toContain(canary)
  expect(JSON.stringify(reported)).toContain('sealed.example.test')
  const { password } = await stored(id)
  expect(password).not.toContain(canary)
  const open = (location: string) => instance.secretBox.open(password, location).reveal()
  expect(open(sealedFor.registryPassword(id, 'sealed.example.test'))).toBe(canary)
  expect(() => open(sealedFor.registryPassword(id, 'evil.example.test'))).toThrow(SecretBoxError)
})

test('berth secrets rotate encrypts it again', async () => {
  const { body } = await save({ host: 'rotated.example.test' })
  const column = sealedColumns.find(({ name }) => name === 'registryLogins.password')
  const rows = await column?.read(instance.database.db)
  const location = sealedFor.registryPassword(body.data.id, 'rotated.example.test')
  const row = rows?.find((one) => one.location === location)
  expect(instance.secretBox.open(row?.sealed ?? '', location).reveal()).toBe(canary)
  const resealed = instance.secretBox.seal(canary, location)
  await row?.replace(resealed)
  expect((await stored(body.data.id)).password).toBe(resealed)
})

describe('another organisation', () => {
  test('neither sees nor removes a login, and can have its own for the same host', async () => {
    const { body } = await save({ host: 'shared.example.test' })
    const list = await outsider('GET /registries')
    expect(list.body.data.map(({ host }: { host: string }) => host)).not.toContain('shared.example.test')
    expect(await outsider('DELETE /registries/:registryId', { params: { registryId: body.data.id } })).toMatchObject({
      status: 404,
    })
    const own = await outsider('POST /registries', { body: { host: 'shared.example.test', username: 'x', password: 'y' } })
    expect(own.status).toBe(201)
    expect((await stored(body.data.id)).username).toBe('ann')
  })
})

test('DELETE: 204, and it is removed', async () => {
  const { body } = await save({ host: 'short.example.test' })
  const params = { registryId: body.data.id }
  expect((await member('DELETE /registries/:registryId', { params })).status).toBe(204)
  expect((await member('DELETE /registries/:registryId', { params })).status).toBe(404)
})

test('403: a viewer', async () => {
  expect(await as(() => people.viewer.token)('GET /registries')).toMatchObject({
    status: 403,
    body: { permission: 'organization:write' },
  })
})

test('a registry that is not allowed is refused (BERTH_IMAGE_REGISTRIES)', async () => {
  const strict = await startInstance({ BERTH_IMAGE_REGISTRIES: 'ghcr.io,docker.io' })
  try {
    const { owner } = await makePeople(strict)
    const body = { host: 'registry.example.test', username: 'ann', password: canary }
    expect(await call(strict, owner.token, 'POST /registries', { body })).toMatchObject({ status: 400, body: { field: 'host' } })
    expect((await call(strict, owner.token, 'POST /registries', { body: { ...body, host: 'ghcr.io' } })).status).toBe(201)
  } finally {
    await strict.stop()
  }
})
