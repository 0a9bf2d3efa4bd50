import { expect, test } from 'vitest'
import { ShortTurns } from './short-turns.ts'

test('several rows of statements that wait do not all go on in the same turn', async () => {
  const turns = countTurns()
  const shortTurns = new ShortTurns()
  const rows = Array.from({ length: 5 }, () => statements(shortTurns, { count: 4, eachMs: 2 }))
  await Promise.all(rows)
  expect(20 / turns.stop()).toBeLessThan(2)
})

test('beside others whose work makes each turn long, statements take half as long as they do', async () => {
  const turns = countTurns(20)
  const shortTurns = new ShortTurns()
  await statements(shortTurns, { count: 40, eachMs: 1 })
  // One in each turn without it: 40 turns. Ten milliseconds of twenty: 4 turns, or a few more.
  expect(turns.stop()).toBeLessThan(16)
})

async function statements(shortTurns: ShortTurns, { count, eachMs }: { count: number; eachMs: number }): Promise<void> {
  for (let at = 0; at < count; at++) {
    await shortTurns.next()
    work(eachMs)
  }
}

/** Counts the turns of the loop until it is stopped; in each of them others work for so long. */
function countTurns(othersMs = 0) {
  let count = 0
  let isStopped = false
  const turn = () => {
    count++
    work(othersMs)
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

function work(ms: number): void {
  const until = performance.now() + ms
  while (performance.now() < until) Math.sqrt(until)
}
