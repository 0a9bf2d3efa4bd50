import { expect, test } from 'vitest'
import { describeOnEachDatabase } from '../test-each-database.ts'
import { startJobs, testJob } from './test-jobs.ts'

describeOnEachDatabase('jobs of a pool', (open) => {
  test('run up to their limit, in order; jobs of other pools and of none are not delayed', async () => {
    const database = await open()
    const running = new Map<string, number>()
    const most = new Map<string, number>()
    const begun: string[] = []
    const gates = new Map<string, PromiseWithResolvers<void>>()
    const gate = (name: string) => gates.get(name) ?? gates.set(name, Promise.withResolvers<void>()).get(name)!
    const work = testJob<{ pool: string; name: string }>('work', {
      concurrency: 10,
      run: async ({ pool, name }) => {
        begun.push(name)
        running.set(pool, (running.get(pool) ?? 0) + 1)
        most.set(pool, Math.max(most.get(pool) ?? 0, running.get(pool) as number))
        await gate(name).promise
        running.set(pool, (running.get(pool) as number) - 1)
      },
    })
    const jobs = await startJobs(database, [work])
    const enqueue = (pool: string, name: string, limit: number) =>
      jobs.enqueue(work, { pool, name }, pool ? { pool: { key: pool, limit } } : {})
    for (const name of ['a1', 'a2', 'a3', 'a4']) await enqueue('a', name, 2)
    await enqueue('b', 'b1', 1)
    await enqueue('', 'free', 1)
    await expect.poll(() => [...begun].sort()).toEqual(['a1', 'a2', 'b1', 'free'])
    gate('a1').resolve()
    await expect.poll(() => begun.includes('a3')).toBe(true)
    expect(begun).not.toContain('a4')
    for (const name of ['a2', 'a3', 'a4', 'b1', 'free']) gate(name).resolve()
    await expect.poll(() => begun.includes('a4')).toBe(true)
    await jobs.whenIdle()
    expect(Object.fromEntries(most)).toEqual({ a: 2, b: 1, '': 1 })
  })
})
