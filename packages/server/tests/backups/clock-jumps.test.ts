import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Scene, setScene } from './scene.ts'

let scene: Scene
let moved = 0
beforeEach(async () => {
  moved = 0
  scene = await setScene({ clock: { now: () => new Date(Date.now() + moved) } })
  await scene.fill({ 'a.txt': 'hello' })
})
afterEach(() => scene?.end())

const day = 86_400_000
const db = () => scene.instance.database.db

/** Moves the clock, and waits until the instance has seen it and done all that follows. */
async function jump(byMs: number): Promise<void> {
  moved += byMs
  const seenAt = async () => (await db().selectFrom('clockMarks').select('seenAt').executeTakeFirstOrThrow()).seenAt
  await expect
    .poll(async () => {
      scene.instance.database.signals.publish('jobs', { schedules: true })
      return Math.abs((await seenAt()) - Date.now() - moved)
    })
    .toBeLessThan(day / 2)
  await scene.instance.jobs.whenIdle()
}

test('a clock that is a year ahead for a while causes no pruning by age, and schedules return with the clock', async () => {
  // In half a day: its time does not come while the test runs.
  const cronExpression = `0 ${(new Date().getUTCHours() + 12) % 24} * * *`
  const policy = await scene.makePolicy({ cronExpression, retainDays: 7 })
  const ids: string[] = []
  for (let age = 5; age > 0; age--) {
    const { id } = await scene.backUp(policy.id)
    await db()
      .updateTable('backupRuns')
      .set({ createdAt: Date.now() - age * day })
      .where('id', '=', id)
      .execute()
    ids.push(id)
  }
  await jump(365 * day)
  const made = await scene.backUp(policy.id)
  expect(made.status).toBe('succeeded')
  await jump(-365 * day)
  await scene.backUp(policy.id)
  await scene.instance.jobs.whenIdle()
  const pruned = await Promise.all(ids.map(async (id) => (await scene.run(id)).prunedAt))
  expect(pruned).toEqual(ids.map(() => null))
  const { nextRunAt: stored } = await db()
    .selectFrom('schedules')
    .selectAll()
    .where('key', '=', `backup-policy:${policy.id}`)
    .executeTakeFirstOrThrow()
  const { body } = await scene.as(scene.people.owner.token, 'GET /projects/:projectId/backup-policies', {
    params: { projectId: scene.projectId },
  })
  expect(body.data[0].nextRunAt).toBe(new Date(stored).toISOString())
  expect(stored - Date.now()).toBeLessThanOrEqual(day)
})
