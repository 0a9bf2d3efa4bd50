import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { EventLoopYielder } from './event-loop-yielder.ts'

/** Moved by work alone: what else the machine does is not measured. */
let nowMs = 0
beforeEach(() => {
  nowMs = 0
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs)
})
afterEach(() => vi.restoreAllMocks())

test('several rows of statements that wait do not all go on in the same turn', async () => {
  const turns = countTurns()
  const yielder = new EventLoopYielder()
  await Promise.all(Array.from({ length: 5 }, () => statements(yielder, { count: 4, eachMs: 2 })))
  expect(20 / turns.stop()).toBeLessThan(2)
})

test('beside others whose work makes each turn long, statements take half as long as they do', async () => {
  const turns = countTurns(20)
  const yielder = new EventLoopYielder()
  await statements(yielder, { count: 40, eachMs: 1 })
  // One in each turn would make 40.
  expect(turns.stop()).toBeLessThan(8)
})

test('a short row of statements beside long ones gets its share in each round, and does not wait for their end', async () => {
  const yielder = new EventLoopYielder()
  let count = 0
  const long = Array.from({ length: 3 }, () => statements(yielder, { count: 100, eachMs: 2, onEach: () => count++ }))
  await statements(yielder, { count: 10, eachMs: 2 })
  expect(count).toBeLessThan(10 * 2 * long.length)
  await Promise.all(long)
})

async function statements(
  yielder: EventLoopYielder,
  { count, eachMs, onEach }: { count: number; eachMs: number; onEach?: () => void },
): Promise<void> {
  for (let at = 0; at < count; at++) {
    await yielder.next()
    nowMs += eachMs
    onEach?.()
  }
}

/** Counts the turns of the loop until it is stopped; in each of them others work for so long. */
function countTurns(othersMs = 0) {
  let count = 0
  let isStopped = false
  const turn = () => {
    count++
    nowMs += othersMs
    if (!isStopped) setImmediate(turn)
  }
  setImmediate(turn)
  return {
    stop() {
      isStopped = true
      return count
    },
  }
}
