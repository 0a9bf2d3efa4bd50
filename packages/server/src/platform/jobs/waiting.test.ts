import { expect, test } from 'vitest'
import { manualClock, readJob, startJobs, testJob } from '../job-runner/test-jobs.ts'
import { describeOnEachDatabase } from '../test-each-database.ts'
import { sharedKind } from './declare.ts'
import { enqueueAll } from './enqueue.ts'
import { endWaiting, findWaiting } from './waiting.ts'

const now = new Date('2030-01-01T00:00:00Z')
const later = new Date(now.getTime() + 1)
const shared = sharedKind<number>('work')
const owner = { organizationId: 'org_1' }

describeOnEachDatabase('jobs that wait', (open) => {
  test('are found by kind, in the order of their due times, if they are due and have no attempt yet', async () => {
    const database = await open({ clock: { now: () => now } })
    const [work, other] = [testJob<number>('work', {}), testJob<number>('other', {})]
    const ids = await database.transaction(async (transaction) => {
      await transaction.enqueue(other, 0)
      await transaction.enqueue(work, 1, { runAt: later })
      const tried = await transaction.enqueue(work, 2)
      await transaction.db.updateTable('jobs').set({ attempts: 1 }).where('id', '=', tried.id).execute()
      return [
        (await transaction.enqueue(work, 3)).id,
        (await transaction.enqueue(work, 4)).id,
        (await transaction.enqueue(work, 5)).id,
      ]
    })
    const found = await findWaiting(database.db, work, now, 2)
    expect(found).toEqual([
      { id: ids[0], payload: 3 },
      { id: ids[1], payload: 4 },
    ])
  })

  test('end with the transaction that did their work, and run if it does not commit', async () => {
    const clock = manualClock()
    const database = await open({ clock })
    const ran: number[] = []
    const work = testJob(shared, { run: async (payload) => void ran.push(payload) })
    const ids = await database.transaction((transaction) =>
      enqueueAll(transaction, now, shared, [
        { payload: 1, owner },
        { payload: 2, owner },
      ]),
    )
    const [done, kept] = ids as [string, string]
    await database.transaction(({ db }) => endWaiting(db, [done], now))
    await expect(
      database.transaction(async ({ db }) => {
        await endWaiting(db, [kept], now)
        throw new Error('no')
      }),
    ).rejects.toThrow('no')
    const jobs = await startJobs(database, [work], { clock })
    await jobs.whenIdle()
    expect(ran).toEqual([2])
    expect(await readJob(database, done)).toMatchObject({ status: 'succeeded', attempts: 1 })
  })

  test('that a worker has claimed meanwhile are not ended', async () => {
    const clock = manualClock()
    const database = await open({ clock })
    const [begun, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const work = testJob('work', {
      run: async () => {
        begun.resolve()
        await end.promise
      },
    })
    const jobs = await startJobs(database, [work], { clock })
    const { id } = await jobs.enqueue(work, {})
    await begun.promise
    expect(await endWaiting(database.db, [id], now)).toEqual(new Set())
    end.resolve()
    await jobs.whenIdle()
  })
})

describeOnEachDatabase('many jobs enqueued at once', (open) => {
  test('wake the workers, and each runs once, in order, not before its time', async () => {
    const clock = manualClock()
    const database = await open({ clock })
    const ran: number[] = []
    const work = testJob(shared, { run: async (payload) => void ran.push(payload) })
    const jobs = await startJobs(database, [work], { clock, pollMs: 600_000 })
    const all = Array.from({ length: 150 }, (_, payload) => ({
      ...{ payload, owner },
      ...{ runAt: payload === 149 ? later : now, groupKey: 'g' },
    }))
    const ids = await database.transaction((transaction) => enqueueAll(transaction, now, shared, all))
    expect(new Set(ids).size).toBe(150)
    await jobs.whenIdle()
    expect(ran).toEqual(Array.from({ length: 149 }, (_, at) => at))
    expect(JSON.parse((await readJob(database, ids[149]!)).payload)).toBe(149)
  })
})
