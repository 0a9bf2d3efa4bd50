import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { FolderBusy, FolderNotEmpty, stageFolder } from './staged-folder.ts'

let base: string
beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'berth-staged-'))
})
afterEach(() => rm(base, { recursive: true, force: true }))

test('a filled folder appears only when complete, and replaces an empty one', async () => {
  const target = join(base, 'deep', 'target')
  await mkdir(target, { recursive: true })
  const result = await stageFolder(target, async (staging) => {
    await writeFile(join(staging, 'file'), 'x')
    expect(await readdir(target)).toEqual([])
    return 7
  })
  expect(result).toBe(7)
  expect(await readFile(join(target, 'file'), 'utf8')).toBe('x')
  expect(await readdir(join(base, 'deep'))).toEqual(['target'])
})

test('a failure leaves no folder', async () => {
  const failing = stageFolder(join(base, 'target'), async (staging) => {
    await writeFile(join(staging, 'file'), 'x')
    throw new Error('no')
  })
  await expect(failing).rejects.toThrow('no')
  expect(await readdir(base)).toEqual([])
})

test('leftovers of a killed process are removed by the next attempt', async () => {
  await mkdir(join(base, 'target.partial'))
  await writeFile(join(base, 'target.partial', 'old'), '')
  await stageFolder(join(base, 'target'), (staging) => writeFile(join(staging, 'new'), ''))
  expect(await readdir(join(base, 'target'))).toEqual(['new'])
})

test('a folder with files, or one being filled, is refused and unchanged', async () => {
  await writeFile(join(base, 'mine'), '')
  await expect(stageFolder(base, async () => {})).rejects.toBeInstanceOf(FolderNotEmpty)
  expect(await readdir(base)).toEqual(['mine'])
  await stageFolder(join(base, 'target'), async () => {
    await expect(stageFolder(join(base, 'target'), async () => {})).rejects.toBeInstanceOf(FolderBusy)
  })
  expect((await readdir(base)).sort()).toEqual(['mine', 'target'])
})
