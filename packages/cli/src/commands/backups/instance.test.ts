import { expect, test } from 'vitest'
import { cliFixture, type RecordedRequest } from '../../cli-fixture.ts'

const time = '2026-01-01T00:00:00.000Z'
const destination = { id: 'bkd_1', name: 'Off site', kind: 's3', config: { bucket: 'acme' }, lastCheck: null }
const policy = {
  destinationId: 'bkd_1',
  cronExpression: '0 2 * * *',
  timezone: 'UTC',
  retainCount: 7,
  content: 'everything',
  nextRunAt: time,
  updatedAt: time,
}
const backup = {
  id: 'ibk_1',
  destinationId: 'bkd_1',
  status: 'queued',
  trigger: 'manual',
  content: 'everything',
  objectName: 'instance/one.tar.zst.age',
  bytesDone: 0,
  sizeBytes: null,
  error: null,
  createdAt: time,
  startedAt: null,
  finishedAt: null,
}
const succeeded = { ...backup, status: 'succeeded', sizeBytes: 12_000_000, finishedAt: time }
const failed = { ...backup, status: 'failed', error: { code: 'destination_corrupt', message: 'it differs' }, finishedAt: time }

const instance =
  (ending: object, stored: object | null = policy) =>
  ({ path, method }: RecordedRequest) => {
    if (path.startsWith('/backup-destinations')) return { body: { data: [destination], nextCursor: null } }
    if (path === '/instance/backup-policy' && method === 'DELETE') return { status: 204, body: {} }
    if (path === '/instance/backup-policy') return { body: { data: method === 'GET' ? stored : policy } }
    if (method === 'POST') return { status: 202, body: { data: backup } }
    return { body: { data: [ending], nextCursor: null } }
  }

test('berth backups instance schedule sends the options and names the key', async () => {
  await using cli = await cliFixture(instance(succeeded))
  const options = ['--schedule', '0 4 * * *', '--timezone', 'Europe/Vienna', '--keep', '3', '--database-only']
  const { code, stdout } = await cli.berth('backups', 'instance', 'schedule', '--destination', 'Off site', ...options)
  expect([code, stdout]).toEqual([0, expect.stringContaining('backup.key')])
  expect(cli.requests.at(-1)).toMatchObject({
    method: 'PUT',
    path: '/instance/backup-policy',
    body: {
      destinationId: 'bkd_1',
      cronExpression: '0 4 * * *',
      timezone: 'Europe/Vienna',
      retainCount: 3,
      content: 'database',
    },
  })
})

test('a destination on the same machine brings a warning', async () => {
  const run = async (kind: string) => {
    await using cli = await cliFixture((request) =>
      request.path.startsWith('/backup-destinations')
        ? { body: { data: [{ ...destination, kind }], nextCursor: null } }
        : instance(succeeded)(request),
    )
    return (await cli.berth('backups', 'instance', 'schedule', '--destination', 'Off site')).stderr
  }
  expect(await run('local')).toContain('if the machine is lost, so is the backup')
  expect(await run('s3')).toBe('')
})

test('berth backups instance run waits for the end', async () => {
  await using cli = await cliFixture(instance(succeeded))
  expect(await cli.berth('backups', 'instance', 'run')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/ibk_1 is stored as instance\/one\.tar\.zst\.age \(12\.0 MB\)/),
  })
  expect(await cli.berth('backups', 'instance', 'run', '--no-wait', '--destination', 'Off site')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('ibk_1 queued'),
  })
  expect(cli.requests.at(-1)).toMatchObject({ path: '/instance/backups', body: { destinationId: 'bkd_1' } })
})

test('berth backups instance run without a schedule and a destination names the missing option', async () => {
  await using cli = await cliFixture(instance(succeeded, null))
  expect(await cli.berth('backups', 'instance', 'run')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--destination'),
  })
  expect(cli.requests.filter(({ method }) => method === 'POST')).toEqual([])
})

test('a backup that fails is exit code 1 with the reason', async () => {
  await using cli = await cliFixture(instance(failed))
  expect(await cli.berth('backups', 'instance', 'run')).toMatchObject({ code: 1, stderr: expect.stringContaining('it differs') })
})

test('the list shows the schedule and the backups, or how to add a schedule; unschedule removes it', async () => {
  await using cli = await cliFixture(instance(succeeded))
  const { stdout } = await cli.berth('backups', 'instance', 'list')
  expect(stdout).toContain('0 2 * * * (UTC) to Off site, keeps 7, next 2026-01-01 00:00 UTC')
  expect(stdout).toMatch(/ibk_1 +succeeded +manual/)
  expect(await cli.berth('backups', 'instance', 'unschedule')).toMatchObject({ code: 0 })
  expect(cli.requests.at(-1)).toMatchObject({ method: 'DELETE', path: '/instance/backup-policy' })
  await using empty = await cliFixture(instance(failed, null))
  expect((await empty.berth('backups', 'instance')).stdout).toContain('berth backups instance schedule')
})
