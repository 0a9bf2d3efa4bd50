import { sql } from 'kysely'
import { expect, test, vi } from 'vitest'
import type { Database } from '../database.ts'
import { databaseNow } from '../db/now.ts'
import { describeOnEachDatabase } from '../test-each-database.ts'
import { aborted, readJob, startJobs, testJob } from './test-jobs.ts'

/** Leaves the row as a process does that was killed while it ran the job. */
async function leaveAsRunning({ db, kind }: Database, id: string, { attempts = 1, leaseMs = -1 } = {}): Promise<void> {
  await db
    .updateTable('jobs')
    .set({ status: 'running', attempts, leaseToken: `dead-${id}`, leaseUntil: sql`${databaseNow(kind)} + ${sql.lit(leaseMs)}` })
    .where('id', '=', id)
    .execute()
}

describeOnEachDatabase('after kill -9', (open, kind) => {
  test('a job that was running runs again', async () => {
    const database = await open()
    const attempts: number[] = []
    const work = testJob('work', { run: async (_payload, _deps, _abort, { attempt }) => void attempts.push(attempt) })
    const { id } = await database.transaction(({ enqueue }) => enqueue(work, {}, { groupKey: 'g', uniqueKey: 'u' }))
    await leaveAsRunning(database, id)
    const jobs = await startJobs(database, [work])
    await jobs.whenIdle()
    expect(attempts).toEqual([2])
    expect((await readJob(database, id)).status).toBe('succeeded')
  })

  test('on SQLite the next process does not wait for the lease; on PostgreSQL it waits exactly for it', async () => {
    const database = await open()
    const work = testJob('work', {})
    const { id } = await database.transaction(({ enqueue }) => enqueue(work, {}))
    await leaveAsRunning(database, id, { leaseMs: 600_000 })
    const first = await startJobs(database, [work])
    await first.whenIdle()
    await first.stop()
    expect((await readJob(database, id)).status).toBe(kind === 'sqlite' ? 'succeeded' : 'running')
    if (kind === 'sqlite') return
    await leaveAsRunning(database, id, { leaseMs: 300 })
    await startJobs(database, [work], { pollMs: 600_000 })
    await vi.waitFor(async () => expect((await readJob(database, id)).status).toBe('succeeded'), 50_000)
  })

  test('a job whose process died in its last attempt ends as failed, and its module is notified', async () => {
    const database = await open()
    const reported: unknown[] = []
    let runs = 0
    const work = testJob('work', {
      maxAttempts: 2,
      run: async () => void runs++,
      onFailed: async (_payload, failure) => void reported.push(failure),
    })
    const { id } = await database.transaction(({ enqueue }) => enqueue(work, {}))
    await leaveAsRunning(database, id, { attempts: 2 })
    const jobs = await startJobs(database, [work])
    await jobs.whenIdle()
    expect(runs).toBe(0)
    expect(reported).toEqual([{ message: 'the process exited while the job was running', attempts: 2 }])
    expect((await readJob(database, id)).status).toBe('failed')
  })

  test('a job whose process died inside onFailed calls it again, with its own reason', async () => {
    const database = await open()
    const reported: unknown[] = []
    const work = testJob('work', { maxAttempts: 2, onFailed: async (_payload, failure) => void reported.push(failure) })
    const { id } = await database.transaction(({ enqueue }) => enqueue(work, {}))
    await leaveAsRunning(database, id, { attempts: 2 })
    await database.db.updateTable('jobs').set({ failure: 'no space left' }).where('id', '=', id).execute()
    const jobs = await startJobs(database, [work])
    await jobs.whenIdle()
    expect(reported).toEqual([{ message: 'no space left', attempts: 2 }])
  })

  test('a job with a pending cancellation does not run again', async () => {
    const database = await open()
    const work = testJob('work', {})
    const { id } = await database.transaction(({ enqueue }) => enqueue(work, {}))
    await leaveAsRunning(database, id)
    await database.db.updateTable('jobs').set({ cancelRequested: 1 }).where('id', '=', id).execute()
    const jobs = await startJobs(database, [work])
    await jobs.whenIdle()
    expect(await readJob(database, id)).toMatchObject({ status: 'cancelled', attempts: 1 })
  })
})

describeOnEachDatabase('a lease', (open) => {
  test('that is lost aborts the run, and the run no longer changes the job', async () => {
    const database = await open()
    const started = Promise.withResolvers<void>()
    const reason = Promise.withResolvers<unknown>()
    const work = testJob('work', {
      run: async (_payload, _deps, abort) => {
        started.resolve()
        reason.resolve(await aborted(abort))
      },
    })
    const jobs = await startJobs(database, [work], { leaseMs: 150 })
    const { id } = await jobs.enqueue(work, {})
    await started.promise
    await database.db
      .updateTable('jobs')
      .set({ leaseToken: 'another process', leaseUntil: sql`${databaseNow(database.kind)} + 600000` })
      .where('id', '=', id)
      .execute()
    expect(await reason.promise).toMatchObject({ reason: 'lease_lost' })
    await jobs.stop()
    expect(await readJob(database, id)).toMatchObject({ status: 'running', leaseToken: 'another process' })
  })

  test('that another process holds is not ended by an outdated run', async () => {
    const database = await open()
    const started = Promise.withResolvers<void>()
    const mayEnd = Promise.withResolvers<void>()
    const work = testJob('work', {
      run: async () => {
        started.resolve()
        await mayEnd.promise
      },
    })
    const jobs = await startJobs(database, [work], { leaseMs: 600_000 })
    const { id } = await jobs.enqueue(work, {})
    await started.promise
    await database.db.updateTable('jobs').set({ leaseToken: 'another process' }).where('id', '=', id).execute()
    mayEnd.resolve()
    await jobs.whenIdle()
    expect(await readJob(database, id)).toMatchObject({ status: 'running', leaseToken: 'another process' })
  })

  test('is renewed by heartbeats while the job runs', async () => {
    const database = await open()
    let runs = 0
    const work = testJob('work', {
      run: async () => {
        runs++
        await new Promise((resolve) => setTimeout(resolve, 2200))
      },
    })
    const second = database.kind === 'postgres' ? await database.openAgain() : undefined
    const planes = [await startJobs(database, [work], { leaseMs: 1000 })]
    if (second) planes.push(await startJobs(second, [work], { leaseMs: 1000, pollMs: 20 }))
    const { id } = await (planes[0] as (typeof planes)[0]).enqueue(work, {})
    await vi.waitFor(async () => expect((await readJob(database, id)).status).toBe('succeeded'), 50_000)
    expect(runs).toBe(1)
    for (const plane of planes) await plane.stop()
    await second?.close()
  })
})

describeOnEachDatabase('several control planes', (open, kind) => {
  test('share the jobs: each runs once, and at most one of a group at a time', async (context) => {
    if (kind === 'sqlite') context.skip('one process owns a SQLite folder')
    const database = await open()
    const others = [await database.openAgain(), await database.openAgain()]
    const ran = new Map<number, number>()
    const running = new Set<number>()
    let overlaps = 0
    const work = testJob<{ n: number }>('work', {
      concurrency: 4,
      run: async ({ n }) => {
        if (running.has(n % 7)) overlaps++
        running.add(n % 7)
        ran.set(n, (ran.get(n) ?? 0) + 1)
        await new Promise((resolve) => setTimeout(resolve, 2))
        running.delete(n % 7)
      },
    })
    await database.transaction(async ({ enqueue }) => {
      for (let n = 0; n < 120; n++) await enqueue(work, { n }, { groupKey: `g${n % 7}` })
    })
    const planes = await Promise.all([database, ...others].map((each) => startJobs(each, [work])))
    const left = () => database.db.selectFrom('jobs').select('id').where('status', '!=', 'succeeded').execute()
    await vi.waitFor(async () => expect(await left()).toEqual([]), { timeout: 50_000, interval: 50 })
    expect(ran.size).toBe(120)
    expect([...ran.values()].every((times) => times === 1)).toBe(true)
    expect(overlaps).toBe(0)
    for (const plane of planes) await plane.stop()
    for (const other of others) await other.close()
  })

  test('run jobs of a group one after the other, in order, also within one control plane', async () => {
    const database = await open()
    const ran: string[] = []
    let running = 0
    const work = testJob<string>('work', {
      concurrency: 10,
      run: async (name) => {
        expect(++running).toBe(1)
        ran.push(name)
        await new Promise((resolve) => setTimeout(resolve, 2))
        running--
      },
    })
    await database.transaction(async ({ enqueue }) => {
      for (const name of ['a', 'b', 'c', 'd', 'e']) await enqueue(work, name, { groupKey: 'project:1' })
    })
    const jobs = await startJobs(database, [work])
    await jobs.whenIdle()
    expect(ran).toEqual(['a', 'b', 'c', 'd', 'e'])
  })
})
