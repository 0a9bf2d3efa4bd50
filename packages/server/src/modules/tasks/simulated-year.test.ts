import { expect, test } from 'vitest'
import { manualClock, startJobs, testJob } from '../../platform/job-runner/test-jobs.ts'
import { nextOccurrence, occurrencesUntil } from '../../platform/jobs/occurrences.ts'
import { describeOnEachDatabase } from '../../platform/test-each-database.ts'

const timezone = 'Europe/Vienna'
const localDay = (time: Date) => time.toLocaleDateString('sv', { timeZone: timezone })
const localTime = (time: Date) => time.toLocaleTimeString('sv', { timeZone: timezone })
const [start, end] = [new Date('2029-12-31T23:00:00Z'), new Date('2030-12-31T23:00:00Z')]

describeOnEachDatabase('a year with both clock changes', (open) => {
  test('a daily task at a time that DST skips or repeats runs once on every day', async () => {
    const clock = manualClock(start.toISOString())
    const database = await open({ clock })
    const times: Date[] = []
    const due = testJob<string>('due', {
      run: async (_payload, _deps, _abort, { scheduledFor }) => void times.push(scheduledFor as Date),
      onMissed: async (_payload, missed) => expect(missed).toEqual([]),
    })
    const jobs = await startJobs(database, [due], { clock })
    const recurrence = { cron: '30 2 * * *', timezone }
    let { nextRunAt } = await jobs.schedules.set({ key: 'k', job: due, payload: 'p', recurrence })
    while (nextRunAt < end) {
      clock.advance(nextRunAt.getTime() - clock.now().getTime())
      await jobs.whenIdle()
      nextRunAt = new Date((await jobs.schedules.find('k'))?.nextRunAt as number)
    }
    expect(times).toHaveLength(365)
    expect(new Set(times.map(localDay)).size).toBe(365)
    expect(times.filter((time) => localTime(time) !== '02:30:00').map(localDay)).toEqual(['2030-03-31'])
  })
})

test('an hourly task runs in every elapsed hour: 23 times on the short day, 25 times on the long one', () => {
  const recurrence = { cron: '0 * * * *', timezone }
  const first = nextOccurrence(recurrence, new Date(start.getTime() - 1)) as Date
  const times = occurrencesUntil(recurrence, first, new Date(end.getTime() - 1), 10_000)
  const gaps = new Set(times.slice(1).map((time, at) => time.getTime() - (times[at] as Date).getTime()))
  expect([times.length, [...gaps]]).toEqual([8760, [3_600_000]])
  const perDay = Map.groupBy(times, localDay)
  expect([perDay.get('2030-03-31')?.length, perDay.get('2030-10-27')?.length]).toEqual([23, 25])
})
