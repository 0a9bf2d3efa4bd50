import { expect, test, vi } from 'vitest'
import { manualClock, startJobs, testJob } from '../job-runner/test-jobs.ts'
import { describeOnEachDatabase } from '../test-each-database.ts'

const waiting = { timeout: 50_000, interval: 5 }
const minute = 60_000
const hour = 60 * minute

describeOnEachDatabase('a schedule', (open) => {
  const setUp = async () => {
    const clock = manualClock('2030-01-01T00:30:00Z')
    const database = await open({ clock })
    const ran: string[] = []
    const missed: string[] = []
    const run = async (payload: unknown, _deps: undefined, _abort: AbortSignal, info: { scheduledFor: Date | null }) =>
      void ran.push(`${payload} ${info.scheduledFor?.toISOString()}`)
    const plain = testJob<string>('plain', { run })
    const careful = testJob<string>('careful', {
      run,
      onMissed: async (payload, times) => void missed.push(...times.map((time) => `${payload} ${time.toISOString()}`)),
    })
    const start = () => startJobs(database, [plain, careful], { clock })
    return { clock, database, ran, missed, plain, careful, start }
  }

  test('runs its job at each of its times, once', async () => {
    const { clock, ran, plain, start } = await setUp()
    const jobs = await start()
    const { nextRunAt } = await jobs.schedules.set({ key: 'k', job: plain, payload: 'p', recurrence: { cron: '0 * * * *' } })
    expect(nextRunAt.toISOString()).toBe('2030-01-01T01:00:00.000Z')
    await jobs.whenIdle()
    expect(ran).toEqual([])
    for (let i = 0; i < 4; i++) {
      clock.advance(hour / 2)
      await jobs.whenIdle()
    }
    expect(ran).toEqual(['p 2030-01-01T01:00:00.000Z', 'p 2030-01-01T02:00:00.000Z'])
  })

  test('that becomes due while jobs are claimed runs once', async () => {
    const { clock, database, ran, plain } = await setUp()
    let idle: Promise<void> | undefined
    const busy = testJob('busy', {
      run: async () => {
        for (const until = performance.now() + 30; performance.now() < until; );
        clock.advance(hour)
        idle = jobs.whenIdle()
      },
    })
    const jobs = await startJobs(database, [plain, busy], { clock })
    await jobs.schedules.set({ key: 'k', job: plain, payload: 'p', recurrence: { cron: '0 * * * *' } })
    await jobs.enqueue(busy, null)
    await vi.waitFor(() => expect(idle).toBeDefined(), waiting)
    await idle
    expect(ran).toEqual(['p 2030-01-01T01:00:00.000Z'])
  })

  test('of many due at once all run, and waiting jobs do not wait until all are started', async () => {
    const { clock, database } = await setUp()
    const ran: string[] = []
    let startedBeforeTheFirst = 0
    const many = testJob<string>('many', {
      run: async (payload) => {
        if (ran.push(payload) > 1) return
        const rows = await database.db.selectFrom('jobs').select('id').where('kind', '=', 'many').execute()
        startedBeforeTheFirst = rows.length
      },
    })
    const jobs = await startJobs(database, [many], { clock, pollMs: 60_000 })
    const names = Array.from({ length: 45 }, (_, at) => `p${at}`)
    for (const name of names) await jobs.schedules.set({ key: name, job: many, payload: name, recurrence: { cron: '0 * * * *' } })
    clock.advance(hour)
    database.signals.publish('jobs', { schedules: true })
    await jobs.whenIdle()
    expect(ran.toSorted()).toEqual(names.toSorted())
    expect(startedBeforeTheFirst).toBeLessThan(45)
  })

  test('of many due at once none counts as missed because others took long', async () => {
    const { clock, database, missed } = await setUp()
    let ran = 0
    const many = testJob<string>('many', {
      run: async () => {
        ran++
        clock.advance(30_000)
      },
      onMissed: async (payload) => void missed.push(payload),
    })
    const jobs = await startJobs(database, [many], { clock })
    const names = Array.from({ length: 25 }, (_, at) => `p${at}`)
    for (const name of names) await jobs.schedules.set({ key: name, job: many, payload: name, recurrence: { cron: '0 * * * *' } })
    clock.advance(hour / 2)
    database.signals.publish('jobs', { schedules: true })
    await jobs.whenIdle()
    expect({ ran, missed }).toEqual({ ran: 25, missed: [] })
  })

  test('that becomes due while many jobs wait is started before all of them are claimed', async () => {
    const { clock, database, plain } = await setUp()
    let begun = 0
    const quick = testJob('quick', { concurrency: 1_000, run: async () => clock.advance(++begun === 1 ? hour : 1) })
    const jobs = await startJobs(database, [plain, quick], { clock })
    await jobs.schedules.set({ key: 'k', job: plain, payload: 'p', recurrence: { cron: '0 * * * *' } })
    await jobs.whenIdle()
    await database.transaction(async ({ enqueue }) => {
      for (let at = 0; at < 100; at++) await enqueue(quick, null)
    })
    await jobs.whenIdle()
    const { createdAt } = await database.db
      .selectFrom('jobs')
      .select('createdAt')
      .where('kind', '=', plain.kind)
      .executeTakeFirstOrThrow()
    expect(begun).toBe(100)
    expect(createdAt - new Date('2030-01-01T01:30:00Z').getTime()).toBeLessThan(50)
  })

  test('follows its time zone', async () => {
    const { plain, start } = await setUp()
    const jobs = await start()
    const recurrence = { cron: '30 3 * * *', timezone: 'America/New_York' }
    const { nextRunAt } = await jobs.schedules.set({ key: 'k', job: plain, payload: 'p', recurrence })
    expect(nextRunAt.toISOString()).toBe('2030-01-01T08:30:00.000Z')
  })

  test('with a fixed interval keeps its grid, however late it is processed', async () => {
    const { clock, plain, start, ran } = await setUp()
    const jobs = await start()
    await jobs.schedules.set({ key: 'k', job: plain, payload: 'p', recurrence: { everySeconds: 600 } })
    clock.advance(25 * minute)
    await jobs.whenIdle()
    expect(ran).toEqual(['p 2030-01-01T00:40:00.000Z'])
    expect(new Date((await jobs.schedules.find('k'))?.nextRunAt ?? 0).toISOString()).toBe('2030-01-01T01:00:00.000Z')
  })

  test('missed while no worker was running runs once for all missed times', async () => {
    const { clock, database, ran, plain, start } = await setUp()
    await database.transaction(({ schedule }) =>
      schedule({ key: 'k', job: plain, payload: 'p', recurrence: { cron: '@hourly' } }),
    )
    clock.advance(5 * hour)
    const jobs = await start()
    await jobs.whenIdle()
    expect(ran).toEqual(['p 2030-01-01T01:00:00.000Z'])
    clock.advance(hour)
    await jobs.whenIdle()
    expect(ran).toEqual(['p 2030-01-01T01:00:00.000Z', 'p 2030-01-01T06:00:00.000Z'])
  })

  test('missed while no worker was running is reported to onMissed with every time, and does not run', async () => {
    const { clock, database, ran, missed, careful, start } = await setUp()
    await database.transaction(({ schedule }) =>
      schedule({ key: 'k', job: careful, payload: 'p', recurrence: { cron: '0 * * * *' } }),
    )
    clock.advance(2 * hour)
    const jobs = await start()
    await jobs.whenIdle()
    expect(missed).toEqual(['p 2030-01-01T01:00:00.000Z', 'p 2030-01-01T02:00:00.000Z'])
    expect(ran).toEqual([])
    clock.advance(hour / 2)
    await jobs.whenIdle()
    expect(ran).toEqual(['p 2030-01-01T03:00:00.000Z'])
  })

  test('whose job still waits or runs is not queued again, and the skipped time is reported', async () => {
    const { clock, database, missed, ran, careful, start } = await setUp()
    await database.transaction(async ({ schedule, enqueue }) => {
      await schedule({ key: 'k', job: careful, payload: 'p', recurrence: { cron: '0 * * * *' } })
      await enqueue(careful, 'before', { uniqueKey: 'schedule:k', runAt: new Date('2031-01-01') })
    })
    const jobs = await start()
    clock.advance(hour / 2)
    await jobs.whenIdle()
    expect({ missed, ran }).toEqual({ missed: ['p 2030-01-01T01:00:00.000Z'], ran: [] })
  })

  test('set again unchanged keeps its next time, even a past one; changed, it starts again', async () => {
    const { clock, database, plain } = await setUp()
    const set = (cron: string) =>
      database.transaction(({ schedule }) => schedule({ key: 'k', job: plain, payload: 'p', recurrence: { cron } }))
    const first = await set('0 * * * *')
    clock.advance(3 * hour)
    expect(await set('0 * * * *')).toEqual(first)
    expect((await set('15 * * * *')).nextRunAt.toISOString()).toBe('2030-01-01T04:15:00.000Z')
  })

  test('that was removed does not fire', async () => {
    const { clock, ran, plain, start } = await setUp()
    const jobs = await start()
    await jobs.schedules.set({ key: 'k', job: plain, payload: 'p', recurrence: { everySeconds: 60 } })
    await jobs.schedules.remove('k')
    clock.advance(hour)
    await jobs.whenIdle()
    expect(ran).toEqual([])
  })

  test('that has become invalid does not affect the others', async () => {
    const { clock, database, ran, plain, start } = await setUp()
    await database.transaction(async ({ schedule, db }) => {
      await schedule({ key: 'bad', job: plain, payload: 'bad', recurrence: { cron: '0 * * * *' } })
      await schedule({ key: 'good', job: plain, payload: 'good', recurrence: { cron: '0 * * * *' } })
      await db.updateTable('schedules').set({ timezone: 'Atlantis/Capital' }).where('key', '=', 'bad').execute()
    })
    const jobs = await start()
    clock.advance(hour)
    await jobs.whenIdle()
    expect(ran).toEqual(['good 2030-01-01T01:00:00.000Z'])
  })

  test('fires on one of several control planes only', async (context) => {
    const { clock, database, ran, plain } = await setUp()
    if (database.kind === 'sqlite') context.skip('one process owns a SQLite folder')
    const other = await database.openAgain({ clock })
    const planes = [await startJobs(database, [plain], { clock }), await startJobs(other, [plain], { clock })]
    await database.transaction(({ schedule }) =>
      schedule({ key: 'k', job: plain, payload: 'p', recurrence: { everySeconds: 60 } }),
    )
    const active = () => database.db.selectFrom('jobs').select('id').where('status', 'in', ['queued', 'running']).execute()
    for (let i = 1; i <= 20; i++) {
      clock.advance(minute)
      await Promise.all(planes.map((plane) => plane.whenIdle()))
      await vi.waitFor(async () => expect({ runs: ran.length, active: await active() }).toEqual({ runs: i, active: [] }), waiting)
    }
    expect(new Set(ran).size).toBe(20)
    for (const plane of planes) await plane.stop()
    await other.close()
  })
})

describeOnEachDatabase('pruning', (open) => {
  test('removes finished jobs that are old, in batches, and nothing else', async () => {
    const clock = manualClock()
    const database = await open({ clock })
    const work = testJob('work', { concurrency: 50 })
    await database.transaction(async ({ enqueue, db }) => {
      for (let i = 0; i < 3; i++) await enqueue(work, {})
      await enqueue({ kind: 'waiting' }, {})
      const template = await db.selectFrom('jobs').selectAll().where('kind', '=', 'work').executeTakeFirstOrThrow()
      for (let batch = 0; batch < 12; batch++) {
        const rows = Array.from({ length: 100 }, (_, i) => ({
          ...template,
          id: `job_${batch}_${i}`,
          status: 'succeeded' as const,
          finishedAt: clock.now().getTime(),
        }))
        await db.insertInto('jobs').values(rows).execute()
      }
    })
    clock.advance(8 * 24 * hour)
    const jobs = await startJobs(database, [work], { clock })
    await jobs.whenIdle()
    clock.advance(hour)
    await jobs.whenIdle()
    const left = await database.db.selectFrom('jobs').select('kind').orderBy('kind').execute()
    expect(left.map((row) => row.kind).filter((kind) => kind !== 'jobs.prune')).toEqual(['waiting', 'work', 'work', 'work'])
  })
})
