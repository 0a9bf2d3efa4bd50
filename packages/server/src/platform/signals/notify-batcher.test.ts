import { expect, test } from 'vitest'
import { NotifyBatcher } from './notify-batcher.ts'

test('a batch is below the size limit of NOTIFY, and the batches contain all events in order', () => {
  const batcher = new NotifyBatcher()
  for (let n = 0; n < 500; n++) batcher.add('build', { n, text: '€'.repeat(n % 90) })
  const seen: unknown[] = []
  while (!batcher.isEmpty) {
    const batch = batcher.take()
    expect(Buffer.byteLength(JSON.stringify(batch))).toBeLessThan(7900)
    seen.push(...batch.map(({ event }) => (event as { n: number }).n))
  }
  expect(seen).toEqual(Array.from({ length: 500 }, (_, n) => n))
})

test('too many unsent events become one reread per topic', () => {
  const batcher = new NotifyBatcher()
  for (let n = 0; n < 10_001; n++) batcher.add(n % 2 ? 'odd' : 'even', { n })
  expect(batcher.take()).toEqual([{ topic: 'even' }, { topic: 'odd' }, { topic: 'even', event: { n: 10_000 } }])
})
