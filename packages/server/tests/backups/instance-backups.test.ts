// gate: also on PostgreSQL, since two requests start one backup at once
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ArchiveDiffers, type InstanceArchive } from '../../src/modules/backups/index.ts'
import { filesIn, type Scene, setScene } from './scene.ts'

let scene: Scene
let folder: string
let moved: number
/** Contents that were requested, and the error of the next ones. */
let opened: string[]
let failures: Error[]

/** An archive with the content that was asked for and a counter. */
const archive: InstanceArchive = {
  async open(content) {
    const failure = failures.shift()
    if (failure) throw failure
    opened.push(content)
    const bytes = Buffer.from(`${content} ${opened.length}`)
    return {
      read: async function* () {
        yield bytes
      },
      compare: async (stored) => {
        const chunks = await Array.fromAsync(stored)
        if (!Buffer.concat(chunks).equals(bytes)) throw new ArchiveDiffers('differs')
      },
      close: async () => undefined,
    }
  },
}

beforeEach(async () => {
  moved = 0
  opened = []
  failures = []
  scene = await setScene({ clock: { now: () => new Date(Date.now() + moved) }, instanceArchive: archive })
  const { body } = await owner('GET /backup-destinations')
  folder = body.data[0].config.path
})
afterEach(() => scene?.end())

const owner = (at: `${string} /${string}`, body?: object) => scene.as(scene.people.owner.token, at, body ? { body } : {})
const schedule = (changes: object = {}) =>
  owner('PUT /instance/backup-policy', { destinationId: scene.destinationId, cronExpression: '0 0 1 1 *', ...changes })
const backups = async () => (await owner('GET /instance/backups')).body.data
const stored = () => filesIn(folder).filter((name) => name.startsWith('instance/'))
async function backUp(body: object = {}) {
  const answer = await owner('POST /instance/backups', body)
  expect([answer.status, answer.body.error]).toEqual([202, undefined])
  await scene.instance.jobs.whenIdle()
  return (await backups()).find(({ id }: { id: string }) => id === answer.body.data.id)
}

async function pass(ms: number) {
  moved += ms
  scene.instance.database.signals.publish('jobs', { schedules: true })
  scene.instance.database.signals.publish('jobs', { due: true })
  await scene.instance.jobs.whenIdle()
}

test('a schedule gets defaults, is shown, changed in part and removed', async () => {
  expect((await owner('GET /instance/backup-policy')).body.data).toBeNull()
  const { status, body } = await owner('PUT /instance/backup-policy', { destinationId: scene.destinationId })
  expect([status, body.data]).toEqual([
    200,
    {
      destinationId: scene.destinationId,
      cronExpression: '0 2 * * *',
      timezone: 'UTC',
      retainCount: 7,
      content: 'everything',
      nextRunAt: expect.stringMatching(/T02:00:00/),
      updatedAt: expect.any(String),
    },
  ])
  await schedule({ retainCount: 3, content: 'database' })
  const changed = { destinationId: scene.destinationId, timezone: 'Europe/Vienna' }
  expect((await owner('PUT /instance/backup-policy', changed)).body.data).toMatchObject({
    cronExpression: '0 0 1 1 *',
    timezone: 'Europe/Vienna',
    retainCount: 3,
    content: 'database',
  })
  expect((await owner('DELETE /instance/backup-policy')).status).toBe(204)
  expect((await owner('GET /instance/backup-policy')).body.data).toBeNull()
  expect((await owner('DELETE /instance/backup-policy')).status).toBe(404)
})

test.each([
  ['an invalid expression', { cronExpression: '61 * * * *' }, 400, 'cronExpression'],
  ['an unknown time zone', { timezone: 'Europe/Nowhere' }, 400, 'timezone'],
  ['an unknown destination', { destinationId: 'bkd_unknown' }, 404, 'destinationId'],
])('a schedule with %s is refused, and the previous one stays', async (_, change, status, field) => {
  await schedule()
  const answer = await schedule(change)
  expect([answer.status, answer.body.field]).toEqual([status, field])
  expect((await owner('GET /instance/backup-policy')).body.data).toMatchObject({ cronExpression: '0 0 1 1 *', timezone: 'UTC' })
})

test('a backup is stored as one object, read back, and listed', async () => {
  await schedule({ content: 'database' })
  expect(await backUp()).toMatchObject({
    status: 'succeeded',
    trigger: 'manual',
    content: 'database',
    destinationId: scene.destinationId,
    sizeBytes: 'database 1'.length,
    error: null,
  })
  const [{ objectName }] = await backups()
  expect(stored()).toEqual([objectName])
  expect(readFileSync(join(folder, objectName), 'utf8')).toBe('database 1')
})

test('without a schedule a destination is needed; requests at once start one backup', async () => {
  const refused = await owner('POST /instance/backups')
  expect([refused.status, refused.body.field]).toEqual([400, 'destinationId'])
  const body = { destinationId: scene.destinationId }
  const answers = await Promise.all([1, 2, 3].map(() => owner('POST /instance/backups', body)))
  expect(new Set(answers.map((answer) => answer.body.data.id)).size).toBe(1)
  await scene.instance.jobs.whenIdle()
  expect([await backups(), opened]).toEqual([[expect.objectContaining({ status: 'succeeded' })], ['everything']])
})

test('only the newest backups are kept, and the objects of the others are removed', async () => {
  await schedule({ retainCount: 2 })
  for (let at = 0; at < 4; at++) {
    moved += 1_000
    await backUp()
  }
  const kept = await backups()
  expect(kept).toHaveLength(2)
  expect(stored()).toEqual(kept.map(({ objectName }: { objectName: string }) => objectName).sort())
  expect(readFileSync(join(folder, kept[0].objectName), 'utf8')).toBe('everything 4')
})

test('a backup is kept after the clock was set back', async () => {
  await schedule({ retainCount: 1 })
  await backUp()
  moved -= 86_400_000
  expect(await backUp()).toMatchObject({ status: 'succeeded' })
  expect(stored()).toHaveLength(2)
})

test('an object that comes back damaged fails the backup, and operators are notified', async () => {
  await schedule()
  scene.withStore((store) => ({
    async *get(name, abort) {
      for await (const chunk of store.get(name, abort)) yield Buffer.from(chunk).fill(0, 0, 1)
    },
  }))
  expect(await backUp()).toMatchObject({ status: 'failed', error: { code: 'destination_corrupt', message: 'differs' } })
  const { db } = scene.instance.database
  const announced = await db.selectFrom('announcements').selectAll().where('category', '=', 'instance.backup_failed').execute()
  expect(announced).toHaveLength(1)
})

test('an internal error is retried, under another name: an instance restored from the first one must not replace it', async () => {
  await schedule()
  failures.push(new Error('a passing fault'))
  const { objectName } = await backUp()
  await pass(10_000)
  const [retried] = await backups()
  expect(retried).toMatchObject({ status: 'succeeded' })
  expect(retried.objectName).not.toBe(objectName)
  expect(stored()).toEqual([retried.objectName])
})

test('the schedule starts a backup, and one for several times that were missed', async () => {
  await schedule({ cronExpression: '0 0 1 1 *' })
  const { body } = await owner('GET /instance/backup-policy')
  await pass(Date.parse(body.data.nextRunAt) - Date.now() + 1_000)
  expect(await backups()).toEqual([expect.objectContaining({ trigger: 'schedule', status: 'succeeded' })])
  await pass(3 * 366 * 86_400_000)
  expect(await backups()).toHaveLength(2)
})

test('a destination that the schedule or a stored backup uses is not deleted', async () => {
  await schedule()
  const remove = (query = '') => owner(`DELETE /backup-destinations/${scene.destinationId}${query}` as never)
  expect([(await remove()).status, (await remove('?force=true')).status]).toEqual([409, 409])
  await backUp()
  await owner('DELETE /instance/backup-policy')
  expect((await remove()).body.error).toContain('1 backup')
  expect((await remove('?force=true')).status).toBe(204)
  expect(await backups()).toEqual([expect.objectContaining({ destinationId: null, status: 'succeeded' })])
})

test('members and users of other organisations neither see nor start backups of the instance', async () => {
  await schedule()
  const { member } = scene.people
  for (const at of ['GET /instance/backup-policy', 'GET /instance/backups', 'POST /instance/backups'] as const)
    expect((await scene.as(member.token, at)).status).toBe(403)
  expect(await backups()).toEqual([])
})
