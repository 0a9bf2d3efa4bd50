import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DirectoryHandle } from '../../../folder/directory-handle.ts'
import { measureFolder } from '../../../folder/measure-folder.ts'
import { discardTree, emptyTrash, removeTree } from './remove-tree.ts'

let path: string
let tree: string
let trash: string
let canary: string
beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), 'berth-remove-'))
  tree = join(path, 'tree')
  trash = join(path, 'trash')
  canary = join(path, 'canary')
  mkdirSync(canary)
  writeFileSync(join(canary, 'file'), 'stays')
})
afterEach(() => rm(path, { recursive: true, force: true }))

const fill = (folder: string) => {
  mkdirSync(join(folder, 'inner', 'deeper'), { recursive: true })
  writeFileSync(join(folder, 'inner', 'file'), 'goes')
}

describe('a tree that a project changes while it is removed', () => {
  test.each([1, 2, 3, 4, 5, 6])('a folder that becomes a symlink before step %i is not followed', async (step) => {
    fill(tree)
    let steps = 0
    const swap = async () => {
      if (++steps !== step) return
      // The tree has been moved to the trash; the folder inside may have been moved as well.
      for (const top of await readdir(trash)) {
        const inner = existsSync(join(trash, top, 'inner')) ? join(trash, top, 'inner') : join(trash, top)
        renameSync(inner, join(path, `aside-${steps}-${top}`))
        symlinkSync(canary, inner)
      }
    }
    await removeTree(tree, trash, swap)
    expect(await readdir(canary)).toEqual(['file'])
    expect(await readdir(trash)).toEqual([])
  })

  test('a process that repeatedly swaps a folder for a symlink deletes nothing outside', async () => {
    const [ours, theirs] = [tree, canary]
    for (let round = 0; round < 4; round++) {
      for (let at = 0; at < parts; at++) fill(join(ours, `part-${at}`))
      const swapper = await startSwapper(ours)
      try {
        await removeTree(ours, trash)
      } finally {
        swapper.kill('SIGKILL')
      }
      expect(await readdir(theirs)).toEqual(['file'])
    }
  })
})

const parts = 12

/** Starts a process that swaps folders for links. Its working directory is the tree, so it follows when the tree is moved. */
async function startSwapper(folder: string): Promise<ChildProcess> {
  const text = `
    const fs = require('node:fs')
    const attempt = (act) => { try { act() } catch {} }
    process.send('ready')
    for (;;) for (let at = 0; at < ${parts}; at++) {
      const inner = 'part-' + at + '/inner'
      attempt(() => { fs.renameSync(inner, 'part-' + at + '/aside'); fs.symlinkSync(${JSON.stringify(canary)}, inner) })
      attempt(() => { fs.unlinkSync(inner); fs.renameSync('part-' + at + '/aside', inner) })
    }`
  const child = spawn(process.execPath, ['-e', text], { cwd: folder, stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
  await new Promise((resolve) => child.once('message', resolve))
  return child
}

test('a tree with any depth and any names is removed', async () => {
  fill(tree)
  let folder = await DirectoryHandle.open(tree)
  for (let depth = 0; depth < 600 && folder; depth++) {
    const next: DirectoryHandle = await folder.make('a-folder-with-a-long-name')
    await folder[Symbol.asyncDispose]()
    folder = next
  }
  await folder?.[Symbol.asyncDispose]()
  writeFileSync(Buffer.concat([Buffer.from(`${tree}/`), Buffer.from([0xff, 0xfe, 0x0a])]), 'x')
  await removeTree(tree, trash)
  expect(existsSync(tree)).toBe(false)
  expect(await readdir(trash)).toEqual([])
})

test('leftovers of a killed removal are removed later; a missing tree counts as removed', async () => {
  fill(tree)
  discardTree(tree, trash)
  discardTree(tree, trash)
  expect(existsSync(tree)).toBe(false)
  await emptyTrash(trash)
  expect(await readdir(trash)).toEqual([])
  await removeTree(tree, trash)
})

test('a size excludes symlink targets', async () => {
  fill(tree)
  writeFileSync(join(canary, 'large'), Buffer.alloc(100_000))
  symlinkSync(canary, join(tree, 'link'))
  expect((await measureFolder(tree)).bytes).toBeLessThan(10_000)
})
