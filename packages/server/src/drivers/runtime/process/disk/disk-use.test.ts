import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { tempFolder } from '../../../../../../../tests/kit/temp-folder.ts'
import { DiskMeasurement } from './disk-use.ts'
import { type FreeSpace, freeSpaceAt } from './free-space.ts'

const megabyte = 1024 * 1024

/** A measurement that was just taken, on a disk with so much free space that other programs do not matter. */
async function justLooked(folder: string): Promise<{ check: DiskMeasurement; room: FreeSpace }> {
  const check = new DiskMeasurement({ growingFolder: folder, countedFolders: [], limitMb: 32 })
  await check.exceedsLimit([process.pid])
  const { bytes, inodes } = await freeSpaceAt(folder)
  const room = { bytes: bytes + 1_000_000 * megabyte, inodes: inodes + 1_000_000_000 }
  // The first measurement is followed by a rest.
  await expect.poll(() => check.isDue({ bytes: 0, inodes: 0 })).toBe(true)
  await check.exceedsLimit([process.pid])
  expect(check.isDue(room)).toBe(false)
  return { check, room }
}

test('a disk that fills up is due for a measurement, even if space was freed since the last one', async () => {
  await using folder = await tempFolder('disk-use')
  const { check: look, room } = await justLooked(folder.path)
  await expect.poll(() => look.isDue({ ...room, bytes: room.bytes - 9 * megabyte })).toBe(true)
})

test('a disk with shrinking free inodes is due too, regardless of file content', async () => {
  await using folder = await tempFolder('disk-use')
  const { check: look, room } = await justLooked(folder.path)
  await expect.poll(() => look.isDue({ ...room, inodes: room.inodes - 9 * 1024 })).toBe(true)
})

test('the project that filled the disk is distinguished from others, once each time the disk fills up', async () => {
  await using folder = await tempFolder('disk-use')
  const { check: look, room } = await justLooked(folder.path)
  const fuller = { ...room, bytes: room.bytes - 9 * megabyte }
  expect(await look.assessWrites(fuller, [process.pid])).toBe('maybe')
  await writeFile(join(folder.path, 'big'), Buffer.alloc(9 * megabyte, 1))
  expect(await look.assessWrites({ ...room, bytes: room.bytes - 18 * megabyte }, [process.pid])).toBe('writes')
})

test('a program whose written bytes are unknown counts as one that writes', async () => {
  await using folder = await tempFolder('disk-use')
  const { check: look, room } = await justLooked(folder.path)
  expect(await look.assessWrites({ ...room, bytes: room.bytes - 9 * megabyte }, undefined)).toBe('writes')
})

test('a measurement is due after a time, but not for a program that wrote almost nothing', async () => {
  await using folder = await tempFolder('disk-use')
  // The monotonic clock is faked as well: a measurement takes no time, so no rest follows it.
  vi.useFakeTimers({ toFake: ['Date', 'performance'] })
  try {
    const { check: look, room } = await justLooked(folder.path)
    const after = async (minutes: number) => {
      vi.advanceTimersByTime(minutes * 60_000)
      return look.isDue(room) ? await look.assessWrites(room, [process.pid]) : 'not due'
    }
    expect([await after(0.5), await after(5)]).toEqual(['not due', 'none'])
    expect(await after(1)).toBe('not due')
    await writeFile(join(folder.path, 'big'), Buffer.alloc(9 * megabyte, 1))
    expect(await after(5)).toBe('maybe')
    await look.exceedsLimit([process.pid])
    for (let hours = 0; hours < 200; hours++) if ((await after(60)) === 'maybe') return expect(hours).toBeGreaterThan(24)
    expect.fail('it is never looked at again')
  } finally {
    vi.useRealTimers()
  }
})
