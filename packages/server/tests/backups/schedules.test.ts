import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Scene, setScene } from './scene.ts'

let scene: Scene
let moved = 0
// The database's own clock is not moved: schedules are created before the clock is moved.
beforeEach(async () => {
  moved = 0
  scene = await setScene({ clock: { now: () => new Date(Date.now() + moved) } })
  await scene.fill({ 'a.txt': 'hello' })
})
afterEach(() => scene?.end())

const minutes = 60_000
/** Every half hour, and not within the next nine minutes: otherwise the real time could come between two lines of a test. */
const halfHourly = () => {
  const minute = (new Date().getUTCMinutes() + 10) % 30
  return `${minute},${minute + 30} * * * *`
}
async function pass(ms: number) {
  moved += ms
  scene.instance.database.signals.publish('jobs', { schedules: true })
  scene.instance.database.signals.publish('jobs', { due: true })
  await scene.instance.jobs.whenIdle()
}
const runsOf = async (policyId: string) =>
  (
    await scene.as(scene.people.owner.token, 'GET /projects/:projectId/backup-runs', {
      params: { projectId: scene.projectId },
      query: { policyId },
    })
  ).body.data
const missedOf = async (policyId: string) =>
  (
    await scene.instance.database.db.selectFrom('announcements').selectAll().where('category', '=', 'backup.missed').execute()
  ).filter(({ data }) => data.includes(policyId))
const nextAt = async (policyId: string) =>
  (
    await scene.instance.database.db
      .selectFrom('schedules')
      .selectAll()
      .where('key', '=', `backup-policy:${policyId}`)
      .executeTakeFirstOrThrow()
  ).nextRunAt

test('a run starts at the scheduled time of the policy', async () => {
  const { id } = await scene.makePolicy({ cronExpression: halfHourly() })
  await pass((await nextAt(id)) - (Date.now() + moved) + 1_000)
  const runs = await runsOf(id)
  expect(runs.map(({ trigger, status }: { trigger: string; status: string }) => [trigger, status])).toEqual([
    ['schedule', 'succeeded'],
  ])
  expect(await missedOf(id)).toEqual([])
})

test('times missed while no control plane was running cause one run and one notification', async () => {
  const { id } = await scene.makePolicy({ cronExpression: halfHourly() })
  await pass((await nextAt(id)) - (Date.now() + moved) + 95 * minutes)
  const runs = await runsOf(id)
  expect(runs).toHaveLength(1)
  const missed = await missedOf(id)
  expect(missed).toHaveLength(1)
  expect(JSON.parse(missed[0]!.data).dueAt).toHaveLength(4)
})

test('a disabled policy starts no run', async () => {
  const { id } = await scene.makePolicy({ cronExpression: halfHourly(), enabled: false })
  await pass(65 * minutes)
  expect(await runsOf(id)).toEqual([])
})

/** Six projects whose policies are due together: their runs, and when all of them have ended. */
async function sixDueTogether() {
  const { db } = scene.instance.database
  const cronExpression = halfHourly()
  let dueAt = 0
  for (let at = 0; at < 6; at++) {
    const { id: projectId } = await scene.makeApp()
    const { body } = await scene.as(scene.people.owner.token, 'POST /projects/:projectId/backup-policies', {
      params: { projectId },
      body: { destinationId: scene.destinationId, cronExpression },
    })
    dueAt = await nextAt(body.data.id)
  }
  const underWay = pass(dueAt - Date.now() + 1_000)
  const scheduled = () => db.selectFrom('backupRuns').selectAll().where('trigger', '=', 'schedule').execute()
  await expect.poll(scheduled).toHaveLength(6)
  return {
    scheduled,
    async ended() {
      await underWay
      await scene.instance.jobs.whenIdle()
      return await db.selectFrom('backupRuns').selectAll().orderBy('startedAt').execute()
    },
  }
}

test('a requested run starts before scheduled ones, which start one after the other', async () => {
  const requested = await scene.makePolicy()
  const { ended } = await sixDueTogether()
  const requestedFor = await scene.start(requested.id)
  const runs = await ended()
  expect(runs.map(({ status }) => status)).toEqual(Array.from({ length: 7 }, () => 'succeeded'))
  expect(runs.findIndex(({ id }) => id === requestedFor)).toBeLessThan(6)
})

test('a request returns a waiting scheduled run, which then starts before the others', async () => {
  const { scheduled, ended } = await sixDueTogether()
  const queued = (await scheduled()).filter(({ status }) => status === 'queued')
  const jobs = await scene.instance.database.db.selectFrom('jobs').selectAll().where('status', '=', 'queued').execute()
  const location = ({ id }: { id: string }) => jobs.find(({ payload }) => payload.includes(id))?.sequence ?? 0
  const last = queued.sort((a, b) => location(a) - location(b)).at(-1)!
  const answer = await scene.as(scene.people.owner.token, 'POST /backup-policies/:policyId/run', {
    params: { policyId: last.policyId! },
  })
  expect([answer.status, answer.body.data]).toEqual([202, expect.objectContaining({ runId: last.id })])
  const runs = await ended()
  expect(runs.map(({ status }) => status)).toEqual(Array.from({ length: 6 }, () => 'succeeded'))
  expect(runs.findIndex(({ id }) => id === last.id)).toBeLessThan(5)
})

describe('the watcher of missed backups', () => {
  const watch = async () => {
    await scene.instance.database.transaction(({ enqueue }) => enqueue({ kind: 'notifications.watch-backups' }, {}))
    await scene.instance.jobs.whenIdle()
  }
  const lose = (policyId: string) =>
    scene.instance.database.db.deleteFrom('schedules').where('key', '=', `backup-policy:${policyId}`).execute()

  test('a backup whose schedule was lost is reported once for the time at which it was due', async () => {
    const { id, cronExpression } = await scene.makePolicy({ cronExpression: halfHourly() })
    expect(cronExpression).not.toBeNull()
    const due = await nextAt(id)
    await lose(id)
    await pass(due - (Date.now() + moved) + 30 * minutes)
    await watch()
    expect(await missedOf(id)).toEqual([])
    await pass(20 * minutes)
    await watch()
    expect(await missedOf(id)).toEqual([])
    await pass(11 * minutes)
    await watch()
    await watch()
    const missed = await missedOf(id)
    expect(missed.map(({ data }) => JSON.parse(data).dueAt)).toEqual([new Date(due).toISOString()])
  })
  test.each([
    ['that ran since', async (policyId: string) => void (await scene.backUp(policyId))],
    [
      'that is switched off',
      async (policyId: string) =>
        void (await scene.as(scene.people.owner.token, 'PATCH /backup-policies/:policyId', {
          params: { policyId },
          body: { enabled: false },
        })),
    ],
  ])('one %s is not announced', async (_, happen) => {
    const { id } = await scene.makePolicy({ cronExpression: halfHourly() })
    const due = await nextAt(id)
    await lose(id)
    await pass(due - (Date.now() + moved) + 29 * minutes)
    await happen(id)
    await lose(id)
    await pass(16 * minutes)
    await watch()
    await pass(16 * minutes)
    await watch()
    expect(await missedOf(id)).toEqual([])
  })
})
