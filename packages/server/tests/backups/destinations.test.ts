// gate: also on PostgreSQL, since a destination in use is known by its foreign key
import { existsSync } from 'node:fs'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { sealedColumns } from '../../src/platform/db/sealed-columns.ts'
import { makeRun } from '../kit/backups.ts'
import { type CallInput, call } from '../kit/call.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, type People } from '../kit/people.ts'
import { makeProject } from '../kit/projects.ts'

let instance: TestInstance
/** The organisation made at set-up: its owner and admin are operators. */
let people: People
let others: People
beforeAll(async () => {
  instance = await startInstance()
  people = await makePeople(instance)
  others = await makePeople(instance)
})
afterAll(() => instance.stop())

const s3 = { bucket: 'acme-backups', accessKeyId: 'AKIAEXAMPLE', secretAccessKey: 'very secret key' }
const sftp = { host: 'backup.example.test', user: 'berth', path: 'backups', password: 'very secret word' }
const create = (token: string, kind: string, config: object, name = 'Off site') =>
  call(instance, token, 'POST /backup-destinations', { body: { name, kind, config } })
const on = (id: string, at: 'GET' | 'PATCH' | 'DELETE', token = people.owner.token, input: CallInput = {}) =>
  call(instance, token, `${at} /backup-destinations/:id`, { params: { id }, ...input })
const made = async (kind: string, config: object, token = people.owner.token) => {
  const { status, body } = await create(token, kind, config)
  expect([status, body.error]).toEqual([201, undefined])
  return body.data
}

describe('POST /backup-destinations', () => {
  test('201: s3; the secret is write-only', async () => {
    const data = await made('s3', { ...s3, endpoint: 'https://s3.example.test', prefix: '/nightly/', forcePathStyle: true })
    expect(data).toMatchObject({ id: expect.stringMatching(/^bkd_/), kind: 's3', name: 'Off site', lastCheck: null })
    expect(data.config).toEqual({
      bucket: 'acme-backups',
      accessKeyId: 'AKIAEXAMPLE',
      endpoint: 'https://s3.example.test',
      prefix: 'nightly',
      forcePathStyle: true,
      hasSecretAccessKey: true,
    })
    const stored = await instance.database.db.selectFrom('backupDestinations').selectAll().where('id', '=', data.id).execute()
    expect(JSON.stringify(stored)).not.toContain('very secret key')
  })
  const paths: [string, object, object, boolean][] = [
    ['s3', { ...s3, bucket: 'same' }, { accessKeyId: 'AKIAOTHER' }, true],
    ['s3', { ...s3, bucket: 'other' }, { prefix: 'nightly' }, false],
    ['sftp', { ...sftp, host: 'same.example.test' }, { user: 'another' }, true],
    ['sftp', { ...sftp, host: 'other.example.test' }, { path: 'elsewhere' }, false],
  ]
  test.each(paths)(
    'a second %s destination is accepted, and a warning names an existing one in the same place: %j, %j',
    async (...location) => {
      const [kind, config, changes, isSame] = location
      const first = await made(kind, config)
      const { status, body } = await create(people.owner.token, kind, { ...config, ...changes })
      expect([status, body.warnings]).toEqual([201, isSame ? [expect.stringContaining(first.id)] : undefined])
    },
  )
  test('201: sftp; the default port is 22, and the password is not shown', async () => {
    const { config } = await made('sftp', sftp)
    expect(config).toEqual({
      host: 'backup.example.test',
      port: 22,
      user: 'berth',
      path: 'backups',
      hasPassword: true,
      hasPrivateKey: false,
    })
  })
  test('201: a local folder below the configured root, for an operator', async () => {
    const { config } = await made('local', { path: 'nightly' })
    expect(config.path).toMatch(/\/data\/backups\/nightly$/)
  })
  test('201: a member adds a destination that is not on the machine itself', async () => {
    expect((await create(people.member.token, 's3', s3)).status).toBe(201)
  })
  test.each([
    ['admin of another organisation', () => others.admin.token],
    ['member of the set-up organisation', () => people.member.token],
  ])('403: a local folder set by an %s', async (_who, token) => {
    const { status, body } = await create(token(), 'local', { path: 'nightly' })
    expect([status, body.code, body.field]).toEqual([403, 'forbidden', 'kind'])
  })
  const here: [string, object, string][] = [
    ...['http://127.0.0.1:9000', 'http://localhost:9000', 'http://[::1]:9000', 'http://0x7f.1', 'http://a.localhost'].map(
      (endpoint): [string, object, string] => ['s3', { ...s3, endpoint }, 'config.endpoint'],
    ),
    ...['127.0.0.1', 'localhost', '::1', '::ffff:127.0.0.1', '0.0.0.0'].map((host): [string, object, string] => [
      'sftp',
      { ...sftp, host },
      'config.host',
    ]),
  ]
  test.each(here)('403: %s on this machine, %j, for a user who is not an operator', async (kind, config, field) => {
    for (const token of [people.member.token, others.owner.token]) {
      const { status, body } = await create(token, kind, config)
      expect([status, body.code, body.field]).toEqual([403, 'forbidden', field])
      const { id } = await made(kind, kind === 's3' ? s3 : sftp, token)
      const moved = await on(id, 'PATCH', token, { body: { config } })
      expect([moved.status, moved.body.field]).toEqual([403, field])
    }
    await made(kind, config)
  })
  test('a member may rename, but not move, a destination of an operator on this machine', async () => {
    const { id } = await made('sftp', { ...sftp, host: '127.0.0.1', port: 1 })
    const change = (body: object) => on(id, 'PATCH', people.member.token, { body })
    expect((await change({ name: 'Renamed', config: { path: 'deeper' } })).status).toBe(200)
    expect((await change({ config: { port: 2, password: 'word' } })).status).toBe(403)
    expect((await change({ config: { host: 'backup.example.test', password: 'word' } })).status).toBe(200)
    expect((await change({ config: { host: '127.0.0.1', port: 1, password: 'word' } })).status).toBe(403)
  })
  test.each(['/etc', '/', '../outside', 'a/../../outside', 'nightly\0', '..'])(
    '400: a local folder that is not below the root: %s',
    async (path) => {
      const { status, body } = await create(people.owner.token, 'local', { path })
      expect([status, body.field]).toEqual([400, 'config.path'])
    },
  )
  test.each([
    ['s3', { ...s3, bucket: undefined }, 'config.bucket'],
    ['s3', { ...s3, secretAccessKey: undefined }, 'config.secretAccessKey'],
    ['s3', { ...s3, endpoint: 'file:///etc' }, 'config.endpoint'],
    ['s3', { ...s3, endpoint: 'https://user:password@s3.example.test' }, 'config.endpoint'],
    ['s3', { ...s3, prefix: '../other' }, 'config.prefix'],
    ['s3', { ...s3, forcePathStyle: 'yes' }, 'config.forcePathStyle'],
    ['s3', { ...s3, accessKeyId: 7 }, 'config.accessKeyId'],
    ['sftp', { ...sftp, host: 'a b' }, 'config.host'],
    ['sftp', { ...sftp, host: '-oProxyCommand=x' }, 'config.host'],
    ['sftp', { ...sftp, port: 0 }, 'config.port'],
    ['sftp', { ...sftp, password: undefined }, 'config.privateKey'],
    ['sftp', { ...sftp, hostKey: 'md5:aa' }, 'config.hostKey'],
    ['local', {}, 'config.path'],
  ])('400: %s with %j names %s', async (kind, config, field) => {
    const { status, body } = await create(people.owner.token, kind, config)
    expect([status, body.code, body.field]).toEqual([400, 'validation_failed', field])
  })
  test('400: an unknown kind', async () => {
    expect((await create(people.owner.token, 'ftp', {})).body.field).toBe('kind')
  })
})

describe('a destination', () => {
  let id: string
  beforeEach(async () => {
    id = (await made('s3', s3)).id
  })

  test('GET: its fields without secrets', async () => {
    const { status, body } = await on(id, 'GET', people.viewer.token)
    expect([status, body.data.id]).toEqual([200, id])
    expect(JSON.stringify(body)).not.toContain('secret key')
  })
  test('PATCH: an omitted secret stays, and a sent one replaces it', async () => {
    const { status, body } = await on(id, 'PATCH', people.owner.token, {
      body: { name: 'Moved', config: { bucket: 'elsewhere' } },
    })
    expect([status, body.data.name, body.data.config.bucket, body.data.config.hasSecretAccessKey]).toEqual([
      200,
      'Moved',
      'elsewhere',
      true,
    ])
  })
  test('PATCH: another sftp host is not trusted by the host key of the previous one', async () => {
    const hostKey = `SHA256:${'a'.repeat(43)}`
    const { id: sftpId } = await made('sftp', { ...sftp, hostKey })
    const kept = await on(sftpId, 'PATCH', people.owner.token, { body: { config: { path: 'deeper' } } })
    expect(kept.body.data.config.hostKey).toBe(hostKey)
    const moved = await on(sftpId, 'PATCH', people.owner.token, {
      body: { config: { host: 'other.example.test', password: 'the word of the other host' } },
    })
    expect(moved.body.data.config.hostKey).toBeUndefined()
  })
  test('PATCH: 400 names the field', async () => {
    const { status, body } = await on(id, 'PATCH', people.owner.token, { body: { config: { bucket: '' } } })
    expect([status, body.field]).toEqual([400, 'config.bucket'])
  })
  test('PATCH: 403 if a member moves a local destination', async () => {
    const local = await made('local', { path: 'nightly' })
    const { status, body } = await on(local.id, 'PATCH', people.member.token, { body: { config: { path: 'other' } } })
    expect([status, body.field]).toEqual([403, 'config'])
    expect((await on(local.id, 'PATCH', people.member.token, { body: { name: 'Renamed' } })).status).toBe(200)
  })
  test('DELETE: 204, and it is removed', async () => {
    expect((await on(id, 'DELETE')).status).toBe(204)
    expect((await on(id, 'GET')).status).toBe(404)
  })
  test('DELETE: 403 for a member', async () => {
    expect((await on(id, 'DELETE', people.member.token)).status).toBe(403)
  })
  test('DELETE: 409 with the number of runs that could no longer be restored; 204 with force', async () => {
    const projectId = (await makeProject(instance, people.owner.token)).id
    for (const more of [{}, {}, { status: 'failed' as const }, { prunedAt: 1 }])
      await makeRun(instance, { people, projectId, destinationId: id, status: 'succeeded', ...more })
    const { status, body } = await on(id, 'DELETE')
    expect([status, body.code, body.error]).toEqual([409, 'destination_in_use', expect.stringContaining('2 backup runs')])
    expect((await on(id, 'GET')).status).toBe(200)
    expect((await on(id, 'DELETE', people.owner.token, { query: { force: 'true' } })).status).toBe(204)
  })
  test('DELETE: 409 destination_in_use while a policy uses it', async () => {
    const project = await makeProject(instance, people.owner.token)
    const policy = await call(instance, people.owner.token, 'POST /projects/:projectId/backup-policies', {
      params: { projectId: project.id },
      body: { destinationId: id },
    })
    expect(policy.status).toBe(201)
    const { status, body } = await on(id, 'DELETE')
    expect([status, body.code]).toEqual([409, 'destination_in_use'])
  })
  test('secrets rotate seals the value again', async () => {
    const column = sealedColumns.find(({ name }) => name === 'backupDestinations.secrets')
    const values = await column?.read(instance.database.db)
    expect(values?.some(({ location }) => location.endsWith(id))).toBe(true)
  })
})

describe('POST /backup-destinations/:id/check', () => {
  const check = (id: string) =>
    call(instance, people.owner.token, 'POST /backup-destinations/:id/check', { params: { id } }).then(({ body }) => body.data)

  test('a local folder: an object is written, read back and removed; the result is stored', async () => {
    const { id, config } = await made('local', { path: 'checked' })
    expect(await check(id)).toMatchObject({ ok: true, reason: null, durationMs: expect.any(Number) })
    expect(existsSync(config.path)).toBe(true)
    expect((await on(id, 'GET')).body.data.lastCheck).toMatchObject({ ok: true })
  })
  test('an unreachable destination reports the reason, and a config change clears the last result', async () => {
    const { id } = await made('sftp', { ...sftp, host: '127.0.0.1', port: 1 })
    const result = await check(id)
    expect([result.ok, typeof result.reason]).toEqual([false, 'string'])
    const changed = await on(id, 'PATCH', people.owner.token, { body: { config: { path: 'deeper' } } })
    expect(changed.body.data.lastCheck).toBeNull()
  })
})

test('GET /backup-destinations: those of the organisation, oldest first, in pages', async () => {
  const own = await makePeople(instance)
  const ids = []
  for (const name of ['One', 'Two', 'Three']) ids.push((await create(own.owner.token, 's3', s3, name)).body.data.id)
  const first = await call(instance, own.viewer.token, 'GET /backup-destinations', { query: { limit: 2 } })
  const { nextCursor } = first.body
  const second = await call(instance, own.viewer.token, 'GET /backup-destinations', { query: { limit: 2, cursor: nextCursor } })
  expect([...first.body.data, ...second.body.data].map(({ id }) => id)).toEqual(ids)
  expect(second.body.nextCursor).toBeNull()
})
