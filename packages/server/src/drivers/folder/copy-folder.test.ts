import { execFileSync } from 'node:child_process'
import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { FolderMissing, FolderOutside, NotAFolder } from './allowed-folder.ts'
import { copyFolder } from './copy-folder.ts'

let base: string
let app: string
let copies = 0
beforeEach(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), 'berth-copy-')))
  app = join(base, 'root', 'app')
  await mkdir(join(app, 'src', 'deep'), { recursive: true })
  await mkdir(join(base, 'secret', 'deep'), { recursive: true })
  for (const file of ['root/app/index.js', 'root/app/src/deep/a.txt', 'secret/key', 'secret/deep/a.txt'])
    await writeFile(join(base, file), file)
})
afterEach(() => rm(base, { recursive: true, force: true }))

const copy = async (path = app) => {
  const into = join(base, `copy-${copies++}`)
  await copyFolder(path, into, { roots: [join(base, 'root')], dataDir: join(base, 'data') })
  return into
}
const everything = async (folder: string) => (await readdir(folder, { recursive: true })).sort()

test('files, their modes and empty folders; not .git, node_modules or a pipe', async () => {
  await chmod(join(app, 'index.js'), 0o755)
  for (const folder of ['.git', 'node_modules', 'src/node_modules', 'empty', '.github']) await mkdir(join(app, folder))
  execFileSync('mkfifo', [join(app, 'pipe')])
  const copied = await copy()
  expect(await everything(copied)).toEqual(['.github', 'empty', 'index.js', 'src', 'src/deep', 'src/deep/a.txt'])
  expect((await lstat(join(copied, 'index.js'))).mode & 0o777).toBe(0o755)
  expect(await readFile(join(copied, 'src/deep/a.txt'), 'utf8')).toBe('root/app/src/deep/a.txt')
})

test('a symlink has the same target in the copy; one that points outside is left out', async () => {
  await symlink('src/deep/a.txt', join(app, 'relative'))
  await symlink(join(app, 'src'), join(app, 'absolute'))
  await symlink('../relative', join(app, 'src', 'chain'))
  await symlink('.', join(app, 'itself'))
  await symlink(join(base, 'secret'), join(app, 'out'))
  await symlink('../../secret/key', join(app, 'up'))
  await symlink('nowhere', join(app, 'dangling'))
  const copied = await copy()
  expect(await readdir(copied)).toEqual(expect.not.arrayContaining(['out', 'up', 'dangling']))
  expect(await readlink(join(copied, 'relative'))).toBe('src/deep/a.txt')
  for (const [link, target] of [
    ['relative', 'src/deep/a.txt'],
    ['absolute', 'src'],
    ['src/chain', 'src/deep/a.txt'],
    ['itself', ''],
  ] as const)
    expect(await realpath(join(copied, link))).toBe(join(copied, target))
})

test('a symlink in place of the folder or a parent is refused', async () => {
  await rename(app, join(base, 'away'))
  await expect(copy()).rejects.toBeInstanceOf(FolderMissing)
  await symlink(join(base, 'secret'), app)
  await expect(copy()).rejects.toBeInstanceOf(NotAFolder)
  await rm(app)
  await symlink(join(base, 'secret'), join(base, 'root', 'between'))
  await expect(copy(join(base, 'root/between/deep'))).rejects.toBeInstanceOf(FolderOutside)
  await expect(copy(join(base, 'secret'))).rejects.toBeInstanceOf(FolderOutside)
})

test('a folder that is replaced by a symlink during the copy never copies the target of the symlink', async () => {
  const [inner, aside] = [join(app, 'src'), join(base, 'aside')]
  let isOver = false
  const swapping = (async () => {
    while (!isOver) {
      await rename(inner, aside)
      await symlink(join(base, 'secret'), inner)
      await rm(inner)
      await rename(aside, inner)
    }
  })()
  try {
    for (let round = 0; round < 300; round++) {
      const copied = await copy()
      const text = await readFile(join(copied, 'src/deep/a.txt'), 'utf8').catch(() => null)
      expect([null, 'root/app/src/deep/a.txt']).toContain(text)
      expect(await everything(copied)).not.toContain('src/key')
      await rm(copied, { recursive: true })
    }
  } finally {
    isOver = true
    await swapping
  }
})
