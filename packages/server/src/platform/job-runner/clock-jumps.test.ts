import { expect, test } from 'vitest'
import type { Recurrence } from '../jobs/occurrences.ts'
import { describeOnEachDatabase } from '../test-each-database.ts'
import { deletionTime, steadyMs } from './clock-watch.ts'
import type { Jobs } from './create-jobs.ts'
import { manualClock, readJob, startJobs, testJob } from './test-jobs.ts'

/** Schedules and clock jumps, while the instance runs and while it is down. */
const hour = 3_600_000
const day = 24 * hour
const year = 365 * day
const recurrences: Record<string, { recurrence: Recurrence; next: string }> = {
  hourly: { recurrence: { cron: '0 * * * *' }, next: '2030-01-01T01:00:00.000Z' },
  'daily in a time zone': { recurrence: { cron: '30 3 * * *', timezone: 'America/New_York' }, next: '2030-01-01T08:30:00.000Z' },
  yearly: { recurrence: { cron: '0 0 1 6 *' }, next: '2030-06-01T00:00:00.000Z' },
  'every ten minutes': { recurrence: { everySeconds: 600 }, next: '2030-01-01T00:40:00.000Z' },
  'every day': { recurrence: { everySeconds: 86_400 }, next: '2030-01-02T00:30:00.000Z' },
}
const jumps = { 'a year ahead': year, 'two days ahead': 2 * day, 'an hour ahead': hour, 'a year behind': -year }
const cases = Object.keys(jumps).flatMap((jump) => [
  { jump, restarts: false },
  { jump, restarts: true },
]) as { jump: keyof typeof jumps; restarts: boolean }[]

describeOnEachDatabase('schedules and the clock', (open) => {
  const setUp = async () => {
    const clock = manualClock('2030-01-01T00:30:00Z')
    const database = await open({ clock })
    let runs = 0
    const work = testJob('work', { concurrency: 10, run: async () => void runs++ })
    const start = () => startJobs(database, [work], { clock })
    /** Waits until the clock was checked and the jump was handled. */
    const noticed = async (jobs: Jobs) => {
      const seenAt = async () => (await database.db.selectFrom('clockMarks').select('seenAt').executeTakeFirst())?.seenAt
      await expect
        .poll(() => {
          database.signals.publish('jobs', { schedules: true })
          return seenAt()
        })
        .toBe(clock.now().getTime())
      await jobs.whenIdle()
    }
    return { clock, database, work, start, noticed, runs: () => runs }
  }

  test.each(cases)('$jump and back (restarts in between: $restarts): every schedule keeps its times', async (one) => {
    const { clock, work, start, noticed, runs } = await setUp()
    let jobs = await start()
    for (const [key, { recurrence }] of Object.entries(recurrences))
      await jobs.schedules.set({ key, job: work, payload: {}, recurrence })
    await jobs.whenIdle()
    for (const byMs of [jumps[one.jump], -jumps[one.jump]]) {
      if (one.restarts) await jobs.stop()
      clock.advance(byMs)
      if (one.restarts) jobs = await start()
      await noticed(jobs)
    }
    const next: Record<string, string> = {}
    for (const key of Object.keys(recurrences)) next[key] = new Date((await jobs.schedules.find(key))!.nextRunAt).toISOString()
    expect(next).toEqual(Object.fromEntries(Object.entries(recurrences).map(([key, { next: at }]) => [key, at])))
    const before = runs()
    clock.advance(hour / 2)
    await jobs.whenIdle()
    expect(runs() - before).toBe(2)
  })

  test('a retry scheduled while the clock was ahead keeps its pause', async () => {
    const { clock, database, start, noticed } = await setUp()
    let isBroken = true
    const flaky = testJob('flaky', {
      backoff: () => 60_000,
      run: async () => {
        if (isBroken) throw new Error('not yet')
      },
    })
    const jobs = await startJobs(database, [flaky], { clock })
    const { id: old } = await jobs.enqueue(flaky, {}, { runAt: new Date('2030-01-08T00:30:00Z') })
    const { id: retried } = await jobs.enqueue(flaky, {}, { runAt: new Date('2030-01-01T00:30:01Z') })
    await jobs.whenIdle()
    clock.advance(2 * day)
    await noticed(jobs)
    const { id: made } = await jobs.enqueue(flaky, {}, { runAt: new Date('2030-01-03T00:35:00Z') })
    await jobs.whenIdle()
    isBroken = false
    clock.advance(-2 * day)
    await noticed(jobs)
    const minutesAhead = async (id: string) => Math.round(((await readJob(database, id)).runAt - clock.now().getTime()) / 60_000)
    expect(await minutesAhead(made)).toBe(5)
    // The jump is measured against the monotonic clock, which advanced while the fake clock stood still.
    expect(Math.abs(await minutesAhead(retried))).toBeLessThan(10)
    expect(await minutesAhead(old)).toBeGreaterThan(4 * 24 * 60)
    await jobs.stop()
    await (await start()).whenIdle()
  })

  test('deletions use the time before a clock jump until the clock was steady for a day', async () => {
    const { clock, database, start, noticed } = await setUp()
    const began = clock.now().getTime()
    const jobs = await start()
    const time = () => deletionTime(database, clock.now())
    await jobs.whenIdle()
    expect(await time()).toBe(began)
    clock.advance(year)
    // Before the jump is noticed, and after it.
    expect(await time()).toBeLessThan(began + hour)
    await noticed(jobs)
    expect(await time()).toBe(began)
    clock.advance(-year + hour)
    await noticed(jobs)
    expect(await time()).toBe(began)
    await database.db
      .updateTable('clockMarks')
      .set({ steadySince: clock.now().getTime() - steadyMs })
      .execute()
    await jobs.stop()
    await (await start()).whenIdle()
    expect(await time()).toBe(clock.now().getTime())
  })
})
