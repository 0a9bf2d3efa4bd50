import { setImmediate as idle } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { LineBatch } from './line-batch.ts'

test('lines that arrive together are passed on together, in order, once the event loop is idle', async () => {
  const calls: number[][] = []
  const batch = new LineBatch<number>(async (lines) => void calls.push([...lines]))
  for (const line of [1, 2, 3]) void batch.add(line)
  expect(calls).toEqual([])
  await idle()
  await batch.flush()
  void batch.add(4)
  await batch.flush()
  expect(calls).toEqual([[1, 2, 3], [4]])
})

test('a source that writes without pause waits, and no two calls overlap', async () => {
  let running = 0
  const lines: number[] = []
  const batch = new LineBatch<number>(async (more) => {
    expect(++running).toBe(1)
    await idle()
    lines.push(...more)
    running--
  })
  let waits = 0
  for (let line = 0; line < 1_000; line++) {
    const full = batch.add(line)
    if (full) waits++
    await full
  }
  await batch.flush()
  expect(waits).toBeGreaterThan(1)
  expect(lines).toEqual(Array.from({ length: 1_000 }, (_, at) => at))
})

test('a failure is reported, and nothing is passed on after it', async () => {
  const seen: number[][] = []
  const batch = new LineBatch<number>(async (lines) => {
    seen.push([...lines])
    throw new Error('closed')
  })
  void batch.add(1)
  await idle()
  void batch.add(2)
  await expect(batch.flush()).rejects.toThrow('closed')
  expect(seen).toEqual([[1]])
})
