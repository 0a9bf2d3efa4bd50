import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { expect, test, vi } from 'vitest'
import { cliFixture, type RecordedRequest } from '../../cli-fixture.ts'
import { writeLink } from '../../project-link.ts'

const stored = { id: 'bkd_1', name: 'Off site', kind: 's3', config: { bucket: 'acme', prefix: 'shop' }, lastCheck: null }
const instance = ({ path, method }: RecordedRequest) => {
  if (path.endsWith('/check'))
    return { body: { data: { ok: true, checkedAt: '2026-01-01T00:00:00.000Z', durationMs: 5, reason: null } } }
  if (path.startsWith('/backup-destinations') && method === 'GET') return { body: { data: [stored], nextCursor: null } }
  if (path === '/backup-destinations') return { status: 201, body: { data: stored } }
  if (path.endsWith('/backup-policies') && method === 'POST')
    return { status: 201, body: { data: { id: 'bkp_1', nextRunAt: null } } }
  return method === 'DELETE' ? { status: 204, body: {} } : {}
}
const withInput = (text: string) => vi.spyOn(process, 'stdin', 'get').mockReturnValue(Readable.from([text]) as never)

test.each([
  [
    ['--kind', 's3', '--bucket', 'acme', '--access-key-id', 'AK', '--secret-stdin', '--force-path-style'],
    { kind: 's3', config: { bucket: 'acme', accessKeyId: 'AK', secretAccessKey: 'the secret', forcePathStyle: true } },
  ],
  [
    ['--kind', 'sftp', '--host', 'h', '--port', '2222', '--user', 'u', '--path', '/b', '--password-stdin'],
    { kind: 'sftp', config: { host: 'h', port: 2222, user: 'u', path: '/b', password: 'the secret' } },
  ],
  [['--kind', 'sftp', '--host', 'h', '--key', 'id'], { kind: 'sftp', config: { host: 'h', privateKey: 'PRIVATE' } }],
  [['--kind', 'local', '--path', 'nightly'], { kind: 'local', config: { path: 'nightly' } }],
])('berth backups destinations add %j adds and checks it', async (args, body) => {
  await using cli = await cliFixture(instance)
  writeFileSync(join(cli.folder, 'id'), 'PRIVATE')
  using _input = withInput('the secret\n')
  const key = args.map((word) => (word === 'id' ? join(cli.folder, 'id') : word))
  const { code, stdout, stderr } = await cli.berth('backups', 'destinations', 'add', 'Off site', ...key)
  expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining('added destination Off site (bkd_1)') })
  expect(stdout).toContain('destination Off site (bkd_1) works')
  expect(cli.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
    'POST /backup-destinations',
    'POST /backup-destinations/bkd_1/check',
  ])
  expect(cli.requests[0]?.body).toEqual({ name: 'Off site', ...body })
})

test('a destination is listed, checked and removed by its name', async () => {
  await using cli = await cliFixture(instance)
  expect((await cli.berth('backups', 'destinations')).stdout).toMatch(/bkd_1 +Off site +s3 +acme\/shop +never/)
  expect(await cli.berth('backups', 'destinations', 'check', 'Off site')).toMatchObject({ code: 0 })
  expect(await cli.berth('backups', 'destinations', 'remove', 'Off site', '--force')).toMatchObject({ code: 0 })
  expect(cli.requests.at(-1)).toMatchObject({ method: 'DELETE', path: '/backup-destinations/bkd_1?force=true' })
  expect(await cli.berth('backups', 'destinations', 'check', 'x')).toMatchObject({
    code: 5,
    stderr: expect.stringContaining('No destination x. Destinations here: Off site.'),
  })
})

test('a check that fails is exit code 1 with the reason; an invalid field is named by its option', async () => {
  await using cli = await cliFixture((request) =>
    request.path.endsWith('/check')
      ? { body: { data: { ok: false, checkedAt: '2026-01-01T00:00:00.000Z', durationMs: 5, reason: 'no such bucket' } } }
      : request.method === 'POST'
        ? { status: 400, body: { code: 'validation_failed', error: 'config.bucket: is required', field: 'config.bucket' } }
        : instance(request),
  )
  expect(await cli.berth('backups', 'destinations', 'check', 'bkd_1')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('does not work: no such bucket'),
  })
  expect((await cli.berth('backups', 'destinations', 'add', 'x', '--kind', 's3')).stderr).toContain('--bucket')
})

test('berth backups policies add sends the options; list, run and remove call their routes', async () => {
  await using cli = await cliFixture(instance)
  writeLink(cli.folder, { projectId: 'prj_1', url: cli.url })
  const args = ['--destination', 'Off site', '--schedule', '0 3 * * *', '--timezone', 'Europe/Vienna', '--keep', '14']
  const more = [
    '--keep-days',
    '30',
    '--volumes',
    'data, logs',
    '--exclude',
    'tmp',
    '--no-databases',
    '--before-deploy',
    '--prove-every',
    '7',
  ]
  expect(await cli.berth('backups', 'policies', 'add', ...args, ...more)).toMatchObject({ code: 0 })
  expect(cli.requests.at(-1)).toMatchObject({
    path: '/projects/prj_1/backup-policies',
    body: {
      destinationId: 'bkd_1',
      cronExpression: '0 3 * * *',
      timezone: 'Europe/Vienna',
      retainCount: 14,
      retainDays: 30,
      beforeDeploy: true,
      proveEveryDays: 7,
      payload: { volumes: ['data', 'logs'], exclude: ['tmp'], databases: 'off' },
    },
  })
  await cli.berth('backups', 'policies', 'run', 'bkp_1')
  expect(cli.requests.find(({ path }) => path === '/backup-policies/bkp_1/run')).toMatchObject({ method: 'POST' })
  expect(await cli.berth('backups', 'policies', 'remove', 'bkp_1')).toMatchObject({ code: 0 })
  expect(cli.requests.at(-1)).toMatchObject({ method: 'DELETE', path: '/backup-policies/bkp_1' })
})
