import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Scene, setScene } from './scene.ts'

let scene: Scene
let moved = 0
// The database's own clock is not moved: what is scheduled is scheduled before the clock is.
beforeEach(async () => {
  moved = 0
  scene = await setScene({ clock: { now: () => new Date(Date.now() + moved) } })
  await scene.fill({ 'a.txt': 'hello' })
})
afterEach(() => scene?.end())

const minutes = 60_000
/** Every half hour, and not within the next nine minutes: else the time itself could come between two lines of a test. */
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

test('a run starts when the policy’s time has come', async () => {
  const { id } = await scene.makePolicy({ cronExpression: halfHourly() })
  await pass((await nextAt(id)) - (Date.now() + moved) + 1_000)
  const runs = await runsOf(id)
  expect(runs.map(({ trigger, status }: { trigger: string; status: string }) => [trigger, status])).toEqual([
    ['schedule', 'succeeded'],
  ])
  expect(await missedOf(id)).toEqual([])
})

test('times that passed while nobody was there are made up for by one run, and announced once', async () => {
  const { id } = await scene.makePolicy({ cronExpression: halfHourly() })
  await pass((await nextAt(id)) - (Date.now() + moved) + 95 * minutes)
  const runs = await runsOf(id)
  expect(runs).toHaveLength(1)
  const missed = await missedOf(id)
  expect(missed).toHaveLength(1)
  expect(JSON.parse(missed[0]!.data).dueAt).toHaveLength(4)
})

test('one that is switched off starts nothing', async () => {
  const { id } = await scene.makePolicy({ cronExpression: halfHourly(), enabled: false })
  await pass(65 * minutes)
  expect(await runsOf(id)).toEqual([])
})

test('a run that somebody asks for goes before those that are due by themselves, which begin one after the other', async () => {
  const { db } = scene.instance.database
  const asked = await scene.makePolicy()
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
  await expect.poll(() => db.selectFrom('backupRuns').selectAll().where('trigger', '=', 'schedule').execute()).toHaveLength(6)
  const askedFor = await scene.start(asked.id)
  await underWay
  await scene.instance.jobs.whenIdle()
  const runs = await db.selectFrom('backupRuns').selectAll().orderBy('startedAt').execute()
  expect(runs.map(({ status }) => status)).toEqual(Array.from({ length: 7 }, () => 'succeeded'))
  expect(runs.findIndex(({ id }) => id === askedFor)).toBeLessThan(6)
})
