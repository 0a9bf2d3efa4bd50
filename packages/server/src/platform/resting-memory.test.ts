import { getHeapSpaceStatistics } from 'node:v8'
import { expect, test } from 'vitest'
import { RestingMemory } from './resting-memory.ts'

const youngBytes = () => getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')!.physical_space_size

/** Enough that lives for a while, so that V8 makes more room for what is young. */
function beBusy(): void {
  const kept: object[][] = []
  for (let round = 0; round < 200; round++) {
    kept.push(Array.from({ length: 20_000 }, (_, at) => ({ round, at, text: `${round} ${at}` })))
    if (kept.length > 20) kept.shift()
  }
}

test('room that a busy time took is given back once it is quiet', async () => {
  const memory = new RestingMemory()
  memory.collect()
  beBusy()
  const busy = youngBytes()
  expect(busy).toBeGreaterThan(20e6)
  const afterALook = () => {
    memory.look()
    return youngBytes()
  }
  expect(afterALook()).toBe(busy)
  await expect.poll(afterALook, { interval: 1_000 }).toBeLessThan(busy / 4)
})
