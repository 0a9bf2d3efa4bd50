import { describe, expect, test, vi } from 'vitest'
import { describeOnEachDatabase } from '../test-each-database.ts'
import { aborted, readJob, startJobs, testJob } from './test-jobs.ts'

describeOnEachDatabase('cancelling', (open) => {
  test('a waiting job never runs', async () => {
    const database = await open()
    let runs = 0
    const work = testJob('work', { run: async () => void runs++ })
    const { id } = await database.transaction(({ enqueue }) => enqueue(work, {}))
    expect(await database.transaction(({ cancelJob }) => cancelJob({ id }))).toEqual({ id, isRunning: false })
    const jobs = await startJobs(database, [work])
    await jobs.whenIdle()
    expect(runs).toBe(0)
    expect(await readJob(database, id)).toMatchObject({ status: 'cancelled' })
  })

  test('cancelling one of five running jobs aborts only that one', async () => {
    const database = await open()
    const reasons: unknown[] = []
    const mayEnd = Promise.withResolvers<void>()
    let running = 0
    const work = testJob('work', {
      concurrency: 5,
      run: async (_payload, _deps, abort) => {
        running++
        await Promise.race([mayEnd.promise, aborted(abort).then((reason) => reasons.push(reason))])
      },
    })
    const jobs = await startJobs(database, [work], { leaseMs: 600_000 })
    const ids: string[] = []
    for (let i = 0; i < 5; i++) ids.push((await jobs.enqueue(work, { i }, { uniqueKey: `build:${i}` })).id)
    await vi.waitFor(() => expect(running).toBe(5), 50_000)
    expect(await jobs.cancel({ uniqueKey: 'build:2' })).toEqual({ id: ids[2], isRunning: true })
    await vi.waitFor(async () => expect((await readJob(database, ids[2] as string)).status).toBe('cancelled'), 50_000)
    mayEnd.resolve()
    await jobs.whenIdle()
    expect(reasons).toMatchObject([{ reason: 'cancelled' }])
    const statuses = await Promise.all(ids.map(async (id) => (await readJob(database, id)).status))
    expect(statuses).toEqual(['succeeded', 'succeeded', 'cancelled', 'succeeded', 'succeeded'])
  })

  test('of an ended or unknown job changes nothing', async () => {
    const database = await open()
    const work = testJob('work', {})
    const jobs = await startJobs(database, [work])
    const { id } = await jobs.enqueue(work, {})
    await jobs.whenIdle()
    expect(await jobs.cancel({ id })).toBeUndefined()
    expect(await jobs.cancel({ id: 'job_unknown' })).toBeUndefined()
    expect((await readJob(database, id)).status).toBe('succeeded')
  })

  test('in a transaction that is rolled back changes nothing', async () => {
    const database = await open()
    const { id } = await database.transaction(({ enqueue }) => enqueue({ kind: 'work' }, {}))
    const failing = database.transaction(async ({ cancelJob }) => {
      await cancelJob({ id })
      throw new Error('no')
    })
    await expect(failing).rejects.toThrow('no')
    expect((await readJob(database, id)).status).toBe('queued')
  })

  test('of a job on another control plane aborts it there', async (context) => {
    const database = await open()
    if (database.kind === 'sqlite') context.skip('one process owns a SQLite folder')
    const other = await database.openAgain()
    const started = Promise.withResolvers<void>()
    const work = testJob('work', {
      run: async (_payload, _deps, abort) => {
        started.resolve()
        await aborted(abort)
      },
    })
    const there = await startJobs(other, [work])
    const { id } = await database.transaction(({ enqueue }) => enqueue(work, {}))
    await started.promise
    await database.transaction(({ cancelJob }) => cancelJob({ id }))
    await vi.waitFor(async () => expect((await readJob(database, id)).status).toBe('cancelled'), 50_000)
    await there.stop()
    await other.close()
  })

  test('takes effect at the next heartbeat if its signal is lost', async () => {
    const database = await open()
    const started = Promise.withResolvers<void>()
    const work = testJob('work', {
      run: async (_payload, _deps, abort) => {
        started.resolve()
        await aborted(abort)
      },
    })
    const jobs = await startJobs(database, [work], { leaseMs: 150 })
    const { id } = await jobs.enqueue(work, {})
    await started.promise
    await database.db.updateTable('jobs').set({ cancelRequested: 1 }).where('id', '=', id).execute()
    await vi.waitFor(async () => expect((await readJob(database, id)).status).toBe('cancelled'), 50_000)
  })
})

describeOnEachDatabase('stopping', (open) => {
  test('without grace leaves no lease, even if a claim is answered late', async () => {
    const database = await open()
    const work = testJob('work', { run: () => new Promise(() => undefined) })
    const { id } = await database.transaction(({ enqueue }) => enqueue(work, {}))
    const mayArrive = Promise.withResolvers<void>()
    const db = database.db.withPlugin({
      transformQuery: ({ node }) => node,
      async transformResult({ result }) {
        if (result.rows.some(({ leaseToken }) => leaseToken)) await mayArrive.promise
        return result
      },
    })
    const jobs = await startJobs({ ...database, db }, [work])
    await vi.waitFor(async () => expect((await readJob(database, id)).leaseToken).not.toBeNull(), 50_000)
    const stopped = jobs.stop({ graceMs: 0 })
    setTimeout(mayArrive.resolve, 50)
    await stopped
    expect(await readJob(database, id)).toMatchObject({ status: 'queued', leaseToken: null })
  })

  describe.each([
    ['ends when it is told to', async (abort: AbortSignal) => void (await aborted(abort))],
    ['throws when it is told to', async (abort: AbortSignal) => Promise.reject(await aborted(abort))],
    ['ignores the signal', async () => await new Promise<void>(() => {})],
  ])('a job that %s', (_what, behave) => {
    test('is queued again within the grace period without counting the attempt, and the next process runs it', async () => {
      const database = await open()
      const reasons: unknown[] = []
      const started = Promise.withResolvers<void>()
      const stuck = testJob('work', {
        maxAttempts: 1,
        run: async (_payload, _deps, abort) => {
          abort.addEventListener('abort', () => reasons.push(abort.reason))
          started.resolve()
          await behave(abort)
        },
      })
      const first = await startJobs(database, [stuck])
      const { id } = await first.enqueue(stuck, {})
      await started.promise
      await first.stop({ graceMs: 100 })
      expect(reasons).toMatchObject([{ reason: 'shutdown' }])
      expect(await readJob(database, id)).toMatchObject({ status: 'queued', attempts: 0, leaseToken: null })
      const second = await startJobs(database, [testJob('work', { maxAttempts: 1 })])
      await second.whenIdle()
      expect(await readJob(database, id)).toMatchObject({ status: 'succeeded', attempts: 1 })
    })
  })

  test('no further job is started', async () => {
    const database = await open()
    const work = testJob('work', {})
    const jobs = await startJobs(database, [work])
    await jobs.stop()
    const { id } = await jobs.enqueue(work, {})
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect((await readJob(database, id)).status).toBe('queued')
  })
})
