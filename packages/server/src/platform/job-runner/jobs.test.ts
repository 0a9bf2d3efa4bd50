import { expect, test, vi } from 'vitest'
import { describeOnEachDatabase } from '../test-each-database.ts'
import { aborted, manualClock, readJob, startJobs, testJob } from './test-jobs.ts'

describeOnEachDatabase('a job', (open) => {
  test('runs at once with its payload and ends as succeeded', async () => {
    const database = await open()
    const seen = Promise.withResolvers<unknown>()
    const work = testJob<{ runId: string }>('work', {
      run: async (payload, _deps, _abort, info) => seen.resolve({ payload, ...info }),
    })
    const jobs = await startJobs(database, [work], { pollMs: 600_000 })
    const { id } = await jobs.enqueue(work, { runId: 'bkr_1' })
    expect(await seen.promise).toEqual({
      payload: { runId: 'bkr_1' },
      jobId: id,
      attempt: 1,
      isLastAttempt: false,
      scheduledFor: null,
    })
    await jobs.whenIdle()
    expect(await readJob(database, id)).toMatchObject({ status: 'succeeded', attempts: 1, leaseToken: null, leaseUntil: null })
  })

  test('that fails is retried after growing pauses until it succeeds', async () => {
    const database = await open()
    const pauses: number[] = []
    const attempts: number[] = []
    const work = testJob('work', {
      backoff: (attempt) => {
        pauses.push(attempt)
        return 2
      },
      run: async (_payload, _deps, _abort, { attempt }) => {
        attempts.push(attempt)
        if (attempt < 4) throw new Error(`not yet, ${attempt}`)
      },
    })
    const jobs = await startJobs(database, [work])
    const { id } = await jobs.enqueue(work, {})
    await vi.waitFor(async () => expect((await readJob(database, id)).status).toBe('succeeded'), 50_000)
    expect({ attempts, pauses }).toEqual({ attempts: [1, 2, 3, 4], pauses: [1, 2, 3] })
  })

  test('that uses up its attempts ends as failed, and its module is notified once', async () => {
    const database = await open()
    const reported: unknown[] = []
    let runs = 0
    const work = testJob('work', {
      maxAttempts: 3,
      run: async () => {
        runs++
        throw new Error('the registry said no')
      },
      onFailed: async (payload, failure) => {
        // The row already has the failure, so that `onFailed` runs again if the process dies here.
        const row = await database.db.selectFrom('jobs').select('failure').where('id', '=', id).executeTakeFirst()
        reported.push({ payload, failure, recorded: row?.failure })
      },
    })
    const jobs = await startJobs(database, [work])
    const { id } = await jobs.enqueue(work, { runId: 'x' })
    await vi.waitFor(async () => expect((await readJob(database, id)).status).toBe('failed'), 50_000)
    expect(runs).toBe(3)
    const failure = { message: 'the registry said no', attempts: 3 }
    expect(reported).toEqual([{ payload: { runId: 'x' }, failure, recorded: failure.message }])
    expect((await readJob(database, id)).lastError).toBe('the registry said no')
  })

  test('whose onFailed fails calls it again, with the first reason, and never runs again', async () => {
    const database = await open()
    let runs = 0
    const reported: string[] = []
    const work = testJob('work', {
      maxAttempts: 1,
      run: async () => {
        runs++
        throw new Error('the reason')
      },
      onFailed: async (_payload, { message }) => {
        reported.push(message)
        if (reported.length < 3) throw new Error('the database was unreachable')
      },
    })
    const jobs = await startJobs(database, [work])
    const { id } = await jobs.enqueue(work, {})
    await vi.waitFor(async () => expect((await readJob(database, id)).status).toBe('failed'), 50_000)
    expect({ runs, told: reported }).toEqual({ runs: 1, told: ['the reason', 'the reason', 'the reason'] })
    expect((await readJob(database, id)).lastError).toBe('the reason')
  })

  test('is aborted at its deadline, which counts as a failed attempt', async () => {
    const database = await open()
    const reasons: unknown[] = []
    const work = testJob('work', {
      deadlineMs: 30,
      maxAttempts: 2,
      run: async (_payload, _deps, abort) => void reasons.push(await aborted(abort)),
    })
    const jobs = await startJobs(database, [work])
    const { id } = await jobs.enqueue(work, {})
    await vi.waitFor(async () => expect((await readJob(database, id)).status).toBe('failed'), 50_000)
    expect(reasons).toMatchObject([{ reason: 'deadline' }, { reason: 'deadline' }])
    expect((await readJob(database, id)).lastError).toBe('timed out after 30 ms')
  })

  test('does not run before its time', async () => {
    const clock = manualClock()
    const database = await open({ clock })
    const ran: string[] = []
    const work = testJob<string>('work', { run: async (name) => void ran.push(name) })
    const jobs = await startJobs(database, [work], { clock })
    await jobs.enqueue(work, 'tomorrow', { runAt: new Date(clock.now().getTime() + 86_400_000) })
    await jobs.enqueue(work, 'now')
    await jobs.whenIdle()
    expect(ran).toEqual(['now'])
    clock.advance(86_400_000)
    await jobs.whenIdle()
    expect(ran).toEqual(['now', 'tomorrow'])
  })

  test('of higher priority runs first; with equal priority the older one', async () => {
    const database = await open()
    const ran: number[] = []
    const work = testJob<number>('work', { run: async (n) => void ran.push(n) })
    await database.transaction(async ({ enqueue }) => {
      for (const [n, priority] of [0, 0, 5, -1, 0].entries()) await enqueue(work, n, { priority })
    })
    const jobs = await startJobs(database, [work])
    await jobs.whenIdle()
    expect(ran).toEqual([2, 0, 1, 4, 3])
  })

  test('runs concurrently with others of its kind up to the declared limit, without delaying other kinds', async () => {
    const database = await open()
    const running = new Map<string, number>()
    const most = new Map<string, number>()
    const release = Promise.withResolvers<void>()
    const count = (kind: string, concurrency: number) =>
      testJob(kind, {
        concurrency,
        run: async () => {
          running.set(kind, (running.get(kind) ?? 0) + 1)
          most.set(kind, Math.max(most.get(kind) ?? 0, running.get(kind) ?? 0))
          await release.promise
          running.set(kind, (running.get(kind) ?? 0) - 1)
        },
      })
    const [build, backup] = [count('build', 3), count('backup', 1)]
    const jobs = await startJobs(database, [build, backup])
    await database.transaction(async ({ enqueue }) => {
      for (let i = 0; i < 8; i++) await enqueue(build, {})
      for (let i = 0; i < 3; i++) await enqueue(backup, {})
    })
    await vi.waitFor(() => expect([...running.values()].sort()).toEqual([1, 3]), 50_000)
    release.resolve()
    await jobs.whenIdle()
    expect(Object.fromEntries(most)).toEqual({ build: 3, backup: 1 })
    const left = await database.db.selectFrom('jobs').select('id').where('status', '!=', 'succeeded').execute()
    expect(left).toEqual([])
  })

  test('with a unique key in use is not added; the existing one is returned', async () => {
    const database = await open()
    const mayEnd = Promise.withResolvers<void>()
    const started = Promise.withResolvers<void>()
    let runs = 0
    const work = testJob('work', {
      run: async () => {
        runs++
        started.resolve()
        await mayEnd.promise
      },
    })
    const jobs = await startJobs(database, [work])
    const first = await jobs.enqueue(work, {}, { uniqueKey: 'project:1' })
    expect(await jobs.enqueue(work, {}, { uniqueKey: 'project:1' })).toMatchObject({ id: first.id, isNew: false })
    await started.promise
    expect(await jobs.enqueue(work, {}, { uniqueKey: 'project:1' })).toMatchObject({
      id: first.id,
      isNew: false,
      isRunning: true,
    })
    mayEnd.resolve()
    await jobs.whenIdle()
    expect((await jobs.enqueue(work, {}, { uniqueKey: 'project:1' })).isNew).toBe(true)
    await jobs.whenIdle()
    expect(runs).toBe(2)
  })

  test('that waits gets the higher priority of a repeated request, never a lower one', async () => {
    const database = await open()
    const ran: string[] = []
    const work = testJob<string>('work', { run: async (name) => void ran.push(name) })
    await database.transaction(async ({ enqueue }) => {
      await enqueue(work, 'first', { priority: -1 })
      await enqueue(work, 'asked for again', { priority: -1, uniqueKey: 'again' })
      await enqueue(work, 'usual', { uniqueKey: 'usual' })
      await enqueue(work, 'not this', { priority: 1, uniqueKey: 'again' })
      await enqueue(work, 'not this', { priority: -2, uniqueKey: 'usual' })
    })
    const jobs = await startJobs(database, [work])
    await jobs.whenIdle()
    expect(ran).toEqual(['asked for again', 'usual', 'first'])
  })

  test('of a kind that this control plane does not know waits for one that does', async () => {
    const database = await open()
    const work = testJob('from.tomorrow', {})
    const old = await startJobs(database, [])
    const { id } = await old.enqueue(work, {})
    await old.whenIdle()
    expect((await readJob(database, id)).status).toBe('queued')
    await old.stop()
    const young = await startJobs(database, [work])
    await young.whenIdle()
    expect((await readJob(database, id)).status).toBe('succeeded')
  })

  test('declared twice is refused', async () => {
    const database = await open()
    await expect(startJobs(database, [testJob('work', {}), testJob('work', {})])).rejects.toThrow(
      'the job work is declared twice',
    )
  })
})

describeOnEachDatabase('an idle worker', (open) => {
  test('sends no query to the database until a job is due', async () => {
    const database = await open()
    let queries = 0
    const counting = database.db.withPlugin({
      transformQuery: ({ node }) => {
        queries++
        return node
      },
      transformResult: async ({ result }) => result,
    })
    const work = testJob('work', {})
    const jobs = await startJobs({ ...database, db: counting }, [work], { pollMs: 600_000 })
    await jobs.enqueue(work, {}, { runAt: new Date(Date.now() + 86_400_000) })
    await jobs.whenIdle()
    expect(queries).toBeGreaterThan(0)
    // The check caused by the new job may still be running; a worker that polls has no such interval.
    const inASpan = async () => {
      const before = queries
      await new Promise((resolve) => setTimeout(resolve, 300))
      return queries - before
    }
    await expect.poll(inASpan).toBe(0)
  })
})
