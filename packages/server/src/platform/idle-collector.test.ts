import { performance } from 'node:perf_hooks'
import { getHeapSpaceStatistics, getHeapStatistics } from 'node:v8'
import { expect, test, vi } from 'vitest'
import { IdleCollector } from './idle-collector.ts'

const youngBytes = () => getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')!.physical_space_size

/** Allocates enough surviving objects that V8 enlarges its young generation. */
function beBusy(): void {
  const kept: object[][] = []
  for (let round = 0; round < 200; round++) {
    kept.push(Array.from({ length: 20_000 }, (_, at) => ({ round, at, text: `${round} ${at}` })))
    if (kept.length > 20) kept.shift()
  }
}

test('room that a busy time took is given back once it is quiet', async () => {
  const memory = new IdleCollector()
  memory.collect()
  beBusy()
  const busy = youngBytes()
  expect(busy).toBeGreaterThan(20e6)
  const afterCheck = () => {
    memory.check()
    return youngBytes()
  }
  expect(afterCheck()).toBe(busy)
  await expect.poll(afterCheck, { interval: 1_000 }).toBeLessThan(busy / 4)
})

const usedBytes = () => getHeapStatistics().used_heap_size

/** Creates lists that survive until V8 promotes them to the old generation, then drops them. */
function leaveOldOnes(): void {
  const kept: string[][] = []
  for (let round = 0; round < 400; round++) kept.push(Array.from({ length: 10_000 }, (_, at) => `${round} ${at}`))
}

/** Bytes that one check frees at the given event-loop utilization. */
function freedAt(utilization: number): number {
  const memory = new IdleCollector()
  const loop = vi.spyOn(performance, 'eventLoopUtilization').mockReturnValue({ utilization, idle: 0, active: 0 })
  try {
    leaveOldOnes()
    const before = usedBytes()
    memory.check()
    return before - usedBytes()
  } finally {
    loop.mockRestore()
  }
}

test('unused old memory is freed by the first check in a quiet time, and by none in a busy one', () => {
  expect(freedAt(0.5)).toBeLessThan(10e6)
  expect(freedAt(0.05)).toBeGreaterThan(100e6)
})
