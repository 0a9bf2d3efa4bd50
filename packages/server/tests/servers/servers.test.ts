// gate: also on PostgreSQL, since it is what reads and writes the tables of servers
import { networkInterfaces } from 'node:os'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { jsonReply, startHostileEngine } from '../../../../tests/kit/hostile-engine.ts'
import { describeNeeding, partOf } from '../../../../tests/kit/machine.ts'
import { type Sshd, startSshd } from '../../../../tests/kit/sshd.ts'
import { makeKeyPair } from '../../src/drivers/shell/test-ssh-server.ts'
import { sealedFor } from '../../src/platform/db/sealed-columns.ts'
import { type CallInput, call } from '../kit/call.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, makeToken, type People } from '../kit/people.ts'
import { makeProject } from '../kit/projects.ts'

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
const admin = as(() => people.admin.token)
const { privateKey } = makeKeyPair()
const ownAddresses = Object.values(networkInterfaces())
  .flatMap((all) => all ?? [])
  .filter(({ family, internal }) => family === 'IPv4' && !internal)
  .map(({ address }) => address)
  .slice(0, 2)
const make = async (body: object = {}) => {
  const answer = await admin('POST /servers', { body: { name: 'Box', host: '203.0.113.9', ...body } })
  expect(answer.status, JSON.stringify(answer.body)).toBe(201)
  return answer.body.data
}
const patch = (id: string, body: object) => admin('PATCH /servers/:id', { params: { id }, body })

describe('POST /servers', () => {
  test('201: port 22, root and the usual socket by default; the server is not contacted', async () => {
    expect(await make({ privateKey })).toMatchObject({
      id: expect.stringMatching(/^srv_/),
      port: 22,
      user: 'root',
      dockerSocket: '/var/run/docker.sock',
      authentication: 'privateKey',
      hostKey: null,
      status: 'unknown',
      checkedAt: null,
    })
    expect(instance.drivers.links.openConnections()).toBe(0)
  })

  test('a key and a password are write-only: in no response, list or audit entry, and stored encrypted', async () => {
    const server = await make({ password: 'hunter2-canary-hunter2' })
    const reported = [
      await admin('GET /servers/:id', { params: { id: server.id } }),
      await admin('GET /servers'),
      await admin('GET /audit-log'),
      await patch(server.id, { name: 'Renamed' }),
    ]
    const row = await instance.database.db.selectFrom('servers').selectAll().where('id', '=', server.id).executeTakeFirst()
    expect(JSON.stringify([server, reported.map(({ body }) => body), row])).not.toContain('hunter2')
    expect(row?.authentication).toBe('password')
  })

  test.each([
    ['name', { name: ' ' }],
    ['host', { host: '-oProxyCommand=touch' }],
    ['user', { user: '-l' }],
    ['port', { port: 0 }],
    ['dockerSocket', { dockerSocket: 'var/run/docker.sock' }],
    ['privateKey', { privateKey: 'not a key' }],
    ['privateKey', { privateKey: makeKeyPair().publicKey }],
    ['password', { privateKey, password: 'both' }],
  ])('400 names %s', async (field, body) => {
    const answer = await admin('POST /servers', { body: { name: 'Box', host: '203.0.113.9', ...body } })
    expect([answer.status, answer.body.field]).toEqual([400, field])
  })

  test('403: a member without server:write; a viewer may list', async () => {
    const body = { name: 'Box', host: '203.0.113.9' }
    expect((await call(instance, people.member.token, 'POST /servers', { body })).status).toBe(403)
    expect((await call(instance, people.viewer.token, 'GET /servers')).status).toBe(200)
  })

  test.each([
    ...['127.0.0.1', 'localhost', '[::1]', '::ffff:127.0.0.1', '0.0.0.0', '169.254.169.254', 'a.localhost'],
    ...[
      '::ffff:7f00:1',
      '[::FFFF:7F00:0001]',
      '0:0:0:0:0:0:0:1',
      '::127.0.0.1',
      '64:ff9b::7f00:1',
      '::ffff:a9fe:a9fe',
      'fe80::1',
    ],
    ...ownAddresses.flatMap((address) => [address, `::ffff:${address}`]),
  ])('403: %s is for operators only', async (host) => {
    const answer = await call(instance, others.admin.token, 'POST /servers', { body: { name: 'Inside', host } })
    expect([answer.status, answer.body.field]).toEqual([403, 'host'])
    expect((await admin('POST /servers', { body: { name: 'Inside', host } })).status).toBe(201)
  })
})

describe('PATCH /servers/:id', () => {
  test.each([{ host: '203.0.113.10' }, { port: 2222 }, { user: 'deploy' }])(
    '400: the stored key is not used for another address: %j',
    async (change) => {
      const { id } = await make({ privateKey })
      const answer = await patch(id, change)
      expect([answer.status, answer.body.field]).toEqual([400, 'privateKey'])
      expect((await patch(id, { ...change, privateKey })).body.data).toMatchObject(change)
    },
  )

  test('unchanged values and other fields do not require the key again', async () => {
    const { id } = await make({ password: 'secret word' })
    const same = await patch(id, { host: '203.0.113.9', port: 22, user: 'root', name: 'New', dockerSocket: '/run/docker.sock' })
    expect([same.status, same.body.data.authentication]).toEqual([200, 'password'])
    expect((await patch(id, { password: null })).body.data.authentication).toBe('none')
  })

  test('a new host or port removes the pinned key, as does hostKey: null; a new user does not', async () => {
    const { id } = await make({ privateKey })
    const pin = () => instance.database.db.updateTable('servers').set({ hostKey: 'SHA256:x' }).where('id', '=', id).execute()
    await pin()
    expect((await patch(id, { user: 'deploy', privateKey })).body.data.hostKey).toBe('SHA256:x')
    expect((await patch(id, { port: 2222, privateKey })).body.data.hostKey).toBe(null)
    await pin()
    expect((await patch(id, { hostKey: null })).body.data.hostKey).toBe(null)
  })
})

describe('two concurrent changes of a server', () => {
  test('409: a key sent for one host is not stored for another host that was sent meanwhile', async () => {
    const { id } = await make({ privateKey })
    const { database } = instance
    const moved = database.db.updateTable('servers').set({ host: '203.0.113.66' }).where('id', '=', id)
    // The other user's change happens between the read of the server and the write.
    const { privateKey: secret } = makeKeyPair()
    const slow = vi.spyOn(database, 'transaction').mockImplementationOnce(async (...given) => {
      await moved.execute()
      slow.mockRestore()
      return database.transaction(...given)
    })
    const answer = await patch(id, { privateKey: secret })
    slow.mockRestore()
    expect([answer.status, answer.body.code]).toEqual([409, 'conflict'])
    const row = await database.db.selectFrom('servers').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
    expect(instance.secretBox.open(row.credential as string, sealedFor.serverCredential(id)).reveal()).toBe(privateKey)
  })
})

describe('a project on a server', () => {
  test('403: choosing the server requires server:write, also of the token', async () => {
    const server = await make()
    const body = { name: 'Shop', serverId: server.id }
    const member = await call(instance, people.member.token, 'POST /projects', { body })
    expect([member.status, member.body.permission]).toEqual([403, 'server:write'])
    const limited = await makeToken(instance, people.admin, { scopes: ['project:write', 'project:read'] })
    expect((await call(instance, limited, 'POST /projects', { body })).status).toBe(403)
    const project = await makeProject(instance, people.admin.token, body)
    // A project that an admin has placed there can still be changed in every other way.
    const params = { id: project.id }
    const kept = await call(instance, people.member.token, 'PATCH /projects/:id', { params, body })
    expect([kept.status, kept.body.data?.config.serverId]).toEqual([200, server.id])
    const other = await make()
    const moved = await call(instance, people.member.token, 'PATCH /projects/:id', { params, body: { serverId: other.id } })
    expect(moved.status).toBe(403)
  })

  test('409: a server that a project uses is not removed, and the message names the project; 204 afterwards', async () => {
    const server = await make()
    const project = await makeProject(instance, people.admin.token, { name: 'Needs it', serverId: server.id })
    const remove = () => admin('DELETE /servers/:id', { params: { id: server.id } })
    const refused = await remove()
    expect([refused.status, refused.body.code]).toEqual([409, 'server_in_use'])
    expect(refused.body.error).toContain('Needs it')
    await call(instance, people.admin.token, 'PATCH /projects/:id', { params: { id: project.id }, body: { serverId: null } })
    expect((await remove()).status).toBe(204)
    expect((await admin('GET /servers/:id', { params: { id: server.id } })).status).toBe(404)
  })
})

describeNeeding(['sshd', 'docker'], 'POST /servers/:id/check', () => {
  let sshd: Sshd
  beforeAll(async () => {
    sshd = await startSshd(partOf('sshd'))
  })
  afterAll(() => sshd?.[Symbol.asyncDispose]())
  const real = (changes: object = {}) =>
    make({
      host: sshd.host,
      port: sshd.port,
      user: sshd.user,
      privateKey: sshd.privateKey,
      dockerSocket: partOf('docker'),
      ...changes,
    })
  const check = (id: string) => admin('POST /servers/:id/check', { params: { id } })
  const shown = async (id: string) => (await admin('GET /servers/:id', { params: { id } })).body.data

  test('200: logs in, calls its Docker engine and pins the host key', async () => {
    const { id } = await real()
    expect((await check(id)).body.data).toMatchObject({
      reachable: true,
      hostKey: await sshd.fingerprint(),
      docker: { version: expect.stringMatching(/^\d+\./) },
    })
    expect(await shown(id)).toMatchObject({ status: 'reachable', statusReason: null, hostKey: await sshd.fingerprint() })
  })

  test('concurrent checks share their result: one runs, and one more for all that were requested meanwhile', async () => {
    await using engine = await startHostileEngine({ '/version': jsonReply({ Version: '99.1' }) })
    const { id } = await real({ dockerSocket: engine.socket })
    const answers = await Promise.all(Array.from({ length: 6 }, () => check(id)))
    for (const { body } of answers) expect(body.data).toMatchObject({ reachable: true, docker: { version: '99.1' } })
    expect(engine.requested.filter((path) => path === '/version')).toHaveLength(2)
  })

  test('after a scan with a changed host key, a scan succeeds as soon as the host has its old key again', async () => {
    const { id } = await real()
    const pin = (hostKey: string) => instance.database.db.updateTable('servers').set({ hostKey }).where('id', '=', id).execute()
    const scan = () => admin('POST /migration/scan', { body: { serverId: id } })
    await pin('SHA256:another')
    for (const _ of [1, 2, 3]) expect((await scan()).body).toMatchObject({ code: 'server_unreachable' })
    await pin(await sshd.fingerprint())
    expect((await scan()).body).toMatchObject({ success: true })
  })

  test('502: a changed host key is refused and both are named; after the pinned key is removed the new one is pinned', async () => {
    const { id } = await real()
    await check(id)
    const before = await sshd.fingerprint()
    await sshd.swapHostKey()
    const answer = await check(id)
    expect([answer.status, answer.body.code]).toEqual([502, 'server_unreachable'])
    expect(answer.body.error).toContain(before)
    expect(answer.body.error).toContain(await sshd.fingerprint())
    expect((await shown(id)).status).toBe('unreachable')
    await patch(id, { hostKey: null })
    expect((await check(id)).body.data.hostKey).toBe(await sshd.fingerprint())
  })

  test.each([
    ['no credential', 'No private key or password', { privateKey: undefined }],
    ['a wrong key', 'refused the login', { privateKey: makeKeyPair().privateKey }],
    ['no Docker', 'Docker is not running', { dockerSocket: '/nowhere/docker.sock' }],
    ['no listener', 'connection refused', { port: 1 }],
  ])('502: %s, with its own reason', async (_, message, changes) => {
    const { id } = await real(changes)
    const answer = await check(id)
    expect([answer.status, answer.body.code]).toEqual([502, 'server_unreachable'])
    expect(answer.body.error).toContain(message)
    expect((await shown(id)).statusReason).toContain(message)
  })

  test('403: a name that resolves to this machine is refused when connecting', async () => {
    const body = { name: 'Sneaky', host: 'localhost.', port: sshd.port, privateKey: sshd.privateKey }
    expect((await call(instance, others.admin.token, 'POST /servers', { body })).status).toBe(403)
    const { id } = await real({ host: 'localhost' })
    await instance.database.db.updateTable('servers').set({ mayBeHere: 0 }).where('id', '=', id).execute()
    const answer = await check(id)
    expect([answer.status, answer.body.field]).toEqual([403, 'host'])
    expect((await shown(id)).hostKey).toBe(null)
  })
})
