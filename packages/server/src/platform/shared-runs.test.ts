import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { SharedRuns } from './shared-runs.ts'

/** Runs of one key that end when the test releases them. */
function startable() {
  const runs = new SharedRuns<number>()
  const ends: PromiseWithResolvers<number>[] = []
  const run = (key = 'one') =>
    runs.run(key, () => {
      const end = Promise.withResolvers<number>()
      ends.push(end)
      return end.promise
    })
  return { run, ends }
}

test('calls during a run share the next run', async () => {
  const { run, ends } = startable()
  const [first, second, third] = [run(), run(), run()]
  await turn()
  expect(ends).toHaveLength(1)
  ends[0]?.resolve(1)
  expect(await first).toBe(1)
  await turn()
  expect(ends).toHaveLength(2)
  const fourth = run()
  ends[1]?.resolve(2)
  expect(await Promise.all([second, third])).toEqual([2, 2])
  await turn()
  ends[2]?.resolve(3)
  expect(await fourth).toBe(3)
})

test('a failed run fails all its callers, and the next one starts', async () => {
  const { run, ends } = startable()
  const [first, second] = [run(), run()]
  ends[0]?.reject(new Error('unreachable'))
  await expect(first).rejects.toThrow('unreachable')
  await turn()
  ends[1]?.resolve(2)
  expect(await second).toBe(2)
})

test('other keys do not wait, and an idle key starts at once', async () => {
  const { run, ends } = startable()
  const [first, other] = [run('one'), run('other')]
  expect(ends).toHaveLength(2)
  ends[0]?.resolve(1)
  ends[1]?.resolve(2)
  expect(await Promise.all([first, other])).toEqual([1, 2])
  await turn()
  const again = run('one')
  expect(ends).toHaveLength(3)
  ends[2]?.resolve(3)
  expect(await again).toBe(3)
})
