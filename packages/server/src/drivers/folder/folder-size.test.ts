import { link, mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { tempFolder } from '../../../../../tests/kit/temp-folder.ts'
import { bytesPerEntry, sizesOf } from './folder-size.ts'
import { measureFolder, measureFolders } from './measure-folder.ts'

const kilobyte = 1024

async function filled() {
  const folder = await tempFolder('folder-size')
  const [one, two] = [join(folder.path, 'one'), join(folder.path, 'two')]
  await mkdir(join(one, 'deeper'), { recursive: true })
  await mkdir(two)
  await writeFile(join(one, 'deeper', 'file'), Buffer.alloc(100 * kilobyte, 1))
  return { folder, one, two }
}

test('the content size counts every name, the disk usage every file', async () => {
  const { folder, one, two } = await filled()
  await using _ = folder
  await link(join(one, 'deeper', 'file'), join(one, 'again'))
  await link(join(one, 'deeper', 'file'), join(two, 'elsewhere'))
  const [first, second] = await measureFolders([one, two])
  expect(first!.bytes).toBe(200 * kilobyte)
  expect(first!.diskBytes).toBeGreaterThanOrEqual(100 * kilobyte)
  expect(first!.diskBytes).toBeLessThan(140 * kilobyte)
  // Counted with the first already.
  expect(second).toEqual({ bytes: 100 * kilobyte, diskBytes: 0 })
})

test('symlinks and empty files count only their name, and a missing folder counts 0', async () => {
  const { folder, one, two } = await filled()
  await using _ = folder
  await symlink(one, join(two, 'link'))
  await symlink(one, join(folder.path, 'three'))
  for (let at = 0; at < 100; at++) await writeFile(join(two, `${at}`), '')
  const [links, three, none] = await measureFolders([two, join(folder.path, 'three'), join(folder.path, 'none')])
  expect(links!.bytes).toBeLessThan(kilobyte)
  expect(links!.diskBytes).toBeGreaterThanOrEqual(101 * bytesPerEntry)
  expect([three, none]).toEqual([
    { bytes: 0, diskBytes: 0 },
    { bytes: 0, diskBytes: 0 },
  ])
})

test('too deep folders have an infinite size, and counting stops at the limit', async () => {
  const { folder, one } = await filled()
  await using _ = folder
  let deep = Buffer.from(join(one, 'deeper'))
  for (let at = 0; at < 600; at++) {
    deep = Buffer.concat([deep, Buffer.from('/d')])
    await mkdir(deep)
  }
  expect((await measureFolder(one)).diskBytes).toBe(Number.POSITIVE_INFINITY)
  const [few] = sizesOf({ folders: [one], maxDiskBytes: 10 * kilobyte })
  expect(few!.diskBytes).toBeLessThan(200 * kilobyte)
})
