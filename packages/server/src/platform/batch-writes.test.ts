import { expect, test } from 'vitest'
import { batchWrites } from './batch-writes.ts'

/** Records the batches; writing 13 fails. */
function noting() {
  const writes: number[][] = []
  const put = batchWrites(3, async (items: readonly number[]) => {
    writes.push([...items])
    await new Promise(setImmediate)
    if (items.includes(13)) throw new Error('thirteen')
    return items.map((item) => item * 10)
  })
  return { writes, put }
}

test('writes that arrive during a write are batched in order, and each has its own result', async () => {
  const { writes, put } = noting()
  expect(await Promise.all([1, 2, 3, 4, 5].map(put))).toEqual([10, 20, 30, 40, 50])
  expect(writes).toEqual([[1], [2, 3, 4], [5]])
})

test('a failed write affects no other', async () => {
  const { put } = noting()
  const all = await Promise.allSettled([1, 12, 13, 14].map(put))
  expect(all.map((one) => (one.status === 'fulfilled' ? one.value : one.reason.message))).toEqual([10, 120, 'thirteen', 140])
  expect(await put(7)).toBe(70)
})
