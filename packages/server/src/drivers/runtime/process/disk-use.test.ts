import { expect, test } from 'vitest'
import { tempFolder } from '../../../../../../tests/kit/temp-folder.ts'
import { DiskLook, freeBytesAt } from './disk-use.ts'

const megabyte = 1024 * 1024

test('a disk that fills up is a reason to look, also when others have made room on it since the last look', async () => {
  await using folder = await tempFolder('disk-use')
  const look = new DiskLook({ grows: folder.path, written: [], limitMb: 32 })
  const free = await freeBytesAt(folder.path)
  await look.isOver()
  // Far from what other programs do to the same disk meanwhile.
  const roomy = free + 1_000_000 * megabyte
  expect(look.isDue(roomy)).toBe(false)
  expect(look.isDue(roomy - 9 * megabyte)).toBe(true)
})
