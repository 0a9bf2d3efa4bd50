import { expect, test } from 'vitest'
import { DiskRounds } from './disk-rounds.ts'
import type { FreeSpace } from './free-space.ts'

const room: FreeSpace = { bytes: 0, inodes: 0 }

/** A hundred programs, some of which fill the disk; each measurement lasts until the test releases it. */
function programs(fills: readonly number[]) {
  const looked: number[] = []
  const ends: (() => void)[] = []
  const all = Array.from({ length: 100 }, (_, at) => ({
    diskMeasuredAt: 1_000 - at,
    isLooking: false,
    needsDiskCheck() {
      return !this.isLooking && !looked.includes(at)
    },
    assessDiskWrites: async () => (fills.includes(at) ? ('writes' as const) : ('maybe' as const)),
    checkDisk() {
      this.isLooking = true
      looked.push(at)
      return new Promise<void>((resolve) => ends.push(resolve))
    },
  }))
  const endAll = () => {
    for (const end of ends.splice(0)) end()
  }
  return { all, looked, endAll }
}

test('a growing disk is measured at once; the others one at a time, the longest waiting first', async () => {
  const { all, looked, endAll } = programs([3, 70])
  const rounds = new DiskRounds()
  const first = rounds.measureDue(all, room)
  await expect.poll(() => looked).toEqual([3, 70, 99])
  await rounds.measureDue(all, room)
  expect(looked).toEqual([3, 70, 99])
  endAll()
  await first
  const second = rounds.measureDue(all, room)
  endAll()
  await second
})

test('after measuring a disk that only may be full, there is a pause of nine times the duration', async () => {
  const { all, looked, endAll } = programs([])
  const rounds = new DiskRounds()
  const began = performance.now()
  const first = rounds.measureDue(all, room)
  await expect.poll(() => looked).toEqual([99])
  await new Promise((resolve) => setTimeout(resolve, 50))
  endAll()
  await first
  const lookedMs = performance.now() - began
  const rested = performance.now()
  for (let requested = 0; looked.length < 2; requested++) {
    const round = rounds.measureDue(all, room)
    await new Promise((resolve) => setTimeout(resolve, 5))
    endAll()
    await round
    expect(requested).toBeLessThan(100_000)
  }
  expect(looked).toEqual([99, 98])
  expect(performance.now() - rested).toBeGreaterThan(50 * 8)
  expect(lookedMs).toBeGreaterThan(49)
})
