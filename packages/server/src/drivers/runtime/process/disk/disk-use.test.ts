import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { tempFolder } from '../../../../../../../tests/kit/temp-folder.ts'
import { DiskMeasurement } from './disk-use.ts'
import { type FreeSpace, freeSpaceAt } from './free-space.ts'

const megabyte = 1024 * 1024

/** A measurement that was just taken, on a disk with so much free space that other programs do not matter. */
async function justMeasured(folder: string): Promise<{ measurement: DiskMeasurement; start: FreeSpace }> {
  const measurement = new DiskMeasurement({ growingFolder: folder, countedFolders: [], limitMb: 32 })
  await measurement.exceedsLimit([process.pid])
  const { bytes, inodes } = await freeSpaceAt(folder)
  const start = { bytes: bytes + 1_000_000 * megabyte, inodes: inodes + 1_000_000_000 }
  // After the first measurement there is a pause.
  await expect.poll(() => measurement.isDue({ bytes: 0, inodes: 0 })).toBe(true)
  await measurement.exceedsLimit([process.pid])
  expect(measurement.isDue(start)).toBe(false)
  return { measurement, start }
}

test('a disk that fills up is due for a measurement, even if space was freed since the last one', async () => {
  await using folder = await tempFolder('disk-use')
  const { measurement, start } = await justMeasured(folder.path)
  await expect.poll(() => measurement.isDue({ ...start, bytes: start.bytes - 9 * megabyte })).toBe(true)
})

test('a disk with shrinking free inodes is due too, regardless of file content', async () => {
  await using folder = await tempFolder('disk-use')
  const { measurement, start } = await justMeasured(folder.path)
  await expect.poll(() => measurement.isDue({ ...start, inodes: start.inodes - 9 * 1024 })).toBe(true)
})

test('the project that filled the disk is distinguished from others, once each time the disk fills up', async () => {
  await using folder = await tempFolder('disk-use')
  const { measurement, start } = await justMeasured(folder.path)
  const fuller = { ...start, bytes: start.bytes - 9 * megabyte }
  expect(await measurement.assessWrites(fuller, [process.pid])).toBe('maybe')
  await writeFile(join(folder.path, 'big'), Buffer.alloc(9 * megabyte, 1))
  expect(await measurement.assessWrites({ ...start, bytes: start.bytes - 18 * megabyte }, [process.pid])).toBe('writes')
})

test('a program whose written bytes are unknown counts as one that writes', async () => {
  await using folder = await tempFolder('disk-use')
  const { measurement, start } = await justMeasured(folder.path)
  expect(await measurement.assessWrites({ ...start, bytes: start.bytes - 9 * megabyte }, undefined)).toBe('writes')
})

test('a measurement is due after a time, but not for a program that wrote almost nothing', async () => {
  await using folder = await tempFolder('disk-use')
  // The monotonic clock is faked as well: a measurement takes no time, so no pause follows it.
  vi.useFakeTimers({ toFake: ['Date', 'performance'] })
  try {
    const { measurement, start } = await justMeasured(folder.path)
    const after = async (minutes: number) => {
      vi.advanceTimersByTime(minutes * 60_000)
      return measurement.isDue(start) ? await measurement.assessWrites(start, [process.pid]) : 'not due'
    }
    expect([await after(0.5), await after(5)]).toEqual(['not due', 'none'])
    expect(await after(1)).toBe('not due')
    await writeFile(join(folder.path, 'big'), Buffer.alloc(9 * megabyte, 1))
    expect(await after(5)).toBe('maybe')
    await measurement.exceedsLimit([process.pid])
    for (let hours = 0; hours < 200; hours++) if ((await after(60)) === 'maybe') return expect(hours).toBeGreaterThan(24)
    expect.fail('no further measurement is due')
  } finally {
    vi.useRealTimers()
  }
})
