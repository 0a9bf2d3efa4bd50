import { expect, test } from 'vitest'
import { type MachineReadings, machineProblems } from './machine-problems.ts'

const gb = 1e9
const healthy: MachineReadings = {
  disk: { totalBytes: 100 * gb, freeBytes: 40 * gb, totalInodes: 1000, freeInodes: 500 },
  memory: { totalBytes: 8 * gb, availableBytes: 4 * gb },
  load: { oneMinute: 0, fiveMinutes: 0, fifteenMinutes: 0, cores: 2 },
  clock: { offsetSeconds: 0.4 },
}
const kinds = (readings: Partial<MachineReadings>) => machineProblems({ ...healthy, ...readings }).map(({ kind }) => kind)
const disk = (totalBytes: number, freeBytes: number, more = {}) =>
  kinds({ disk: { ...healthy.disk, totalBytes, freeBytes, ...more } })

test('a machine with room has no problem', () => {
  expect(machineProblems(healthy)).toEqual([])
})

test('a disk is low below a tenth, at least 1 GB and at most 10 GB', () => {
  expect(disk(50 * gb, 5.1 * gb)).toEqual([])
  expect(disk(50 * gb, 4.9 * gb)).toEqual(['disk_low'])
  expect(disk(4000 * gb, 10.1 * gb)).toEqual([])
  expect(disk(4000 * gb, 9.9 * gb)).toEqual(['disk_low'])
  expect(disk(5 * gb, 0.9 * gb)).toEqual(['disk_low'])
})

test('a disk without inodes is low, and one that has no fixed number of them is not', () => {
  expect(disk(100 * gb, 40 * gb, { freeInodes: 49 })).toEqual(['disk_low'])
  expect(disk(100 * gb, 40 * gb, { totalInodes: 0, freeInodes: 0 })).toEqual([])
})

test('memory is low below a tenth, at most 512 MB', () => {
  expect(kinds({ memory: { totalBytes: 64 * gb, availableBytes: 0.6 * gb } })).toEqual([])
  expect(kinds({ memory: { totalBytes: 64 * gb, availableBytes: 0.5 * gb } })).toEqual(['memory_low'])
  expect(kinds({ memory: { totalBytes: 1 * gb, availableBytes: 0.11 * gb } })).toEqual([])
})

test('a clock is wrong when it is more than a minute off; one that was not compared is not', () => {
  for (const offsetSeconds of [61, -61]) expect(kinds({ clock: { offsetSeconds } })).toEqual(['clock_wrong'])
  for (const offsetSeconds of [59, null]) expect(kinds({ clock: { offsetSeconds } })).toEqual([])
})

test('a problem says how much is left and what to do', () => {
  expect(machineProblems({ ...healthy, clock: { offsetSeconds: -3600 } })).toEqual([
    { kind: 'clock_wrong', message: 'The clock is 3600 s behind.', remedy: expect.stringContaining('timedatectl') },
  ])
})
