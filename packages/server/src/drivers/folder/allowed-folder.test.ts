import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { FolderMissing, FolderOutside, NotAFolder, resolveAllowed } from './allowed-folder.ts'

let base: string
let root: string

beforeAll(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), 'berth-allowed-')))
  root = join(base, 'a')
  await mkdir(join(root, 'app', 'src'), { recursive: true })
  await mkdir(join(base, 'ab', 'app'), { recursive: true })
  await writeFile(join(root, 'file'), '')
  await symlink(join(base, 'ab'), join(root, 'out'))
  await symlink('app', join(root, 'in'))
  await symlink(root, join(base, 'root-link'))
  await symlink('loop', join(root, 'loop'))
})
afterAll(() => rm(base, { recursive: true, force: true }))

test('a folder below a root is answered with its real path', async () => {
  expect(await resolveAllowed(join(root, 'app'), [root])).toBe(join(root, 'app'))
  expect(await resolveAllowed(join(root, 'app/../app/src/'), [root])).toBe(join(root, 'app/src'))
  expect(await resolveAllowed(join(root, 'app'), [join(base, 'nowhere'), root])).toBe(join(root, 'app'))
  expect(await resolveAllowed(join(root, 'app'), ['/'])).toBe(join(root, 'app'))
})

test('links are resolved first, of the path and of the root', async () => {
  expect(await resolveAllowed(join(root, 'in'), [root])).toBe(join(root, 'app'))
  expect(await resolveAllowed(join(base, 'root-link/app'), [root])).toBe(join(root, 'app'))
  expect(await resolveAllowed(join(root, 'app'), [join(base, 'root-link')])).toBe(join(root, 'app'))
  await expect(resolveAllowed(join(root, 'out'), [root])).rejects.toBeInstanceOf(FolderOutside)
  await expect(resolveAllowed(join(root, 'out/app'), [root])).rejects.toBeInstanceOf(FolderOutside)
})

test('a folder whose name begins like a root is outside', async () => {
  await expect(resolveAllowed(join(base, 'ab'), [root])).rejects.toBeInstanceOf(FolderOutside)
  await expect(resolveAllowed(join(base, 'ab/app'), [root])).rejects.toBeInstanceOf(FolderOutside)
})

test('a root is not below itself, unless roots are asked for too', async () => {
  await expect(resolveAllowed(root, [root])).rejects.toBeInstanceOf(FolderOutside)
  expect(await resolveAllowed(root, [root], { rootsToo: true })).toBe(root)
  await expect(resolveAllowed(base, [root], { rootsToo: true })).rejects.toBeInstanceOf(FolderOutside)
})

test('a `..` leaves by the real folder, not by the name of a link', async () => {
  await expect(resolveAllowed(join(root, 'app/../../ab'), [root])).rejects.toBeInstanceOf(FolderOutside)
  await expect(resolveAllowed(`${root}/out/../a`, [root])).rejects.toBeInstanceOf(FolderOutside)
})

test('missing and not a folder are told below a root only', async () => {
  await expect(resolveAllowed(join(root, 'missing'), [root])).rejects.toBeInstanceOf(FolderMissing)
  await expect(resolveAllowed(join(root, 'app/missing/deep'), [root])).rejects.toBeInstanceOf(FolderMissing)
  await expect(resolveAllowed(join(root, 'file'), [root])).rejects.toBeInstanceOf(NotAFolder)
  await expect(resolveAllowed(join(root, 'file/x'), [root])).rejects.toBeInstanceOf(NotAFolder)
  await expect(resolveAllowed(join(base, 'missing'), [root])).rejects.toBeInstanceOf(FolderOutside)
  await expect(resolveAllowed(join(root, 'out/missing'), [root])).rejects.toBeInstanceOf(FolderOutside)
  await expect(resolveAllowed(join(root, 'loop'), [root])).rejects.toThrow('cannot be read')
})

test('relative paths, NUL and no roots are refused', async () => {
  await expect(resolveAllowed('app', [root])).rejects.toBeInstanceOf(FolderOutside)
  await expect(resolveAllowed(`${root}/app\0`, [root])).rejects.toBeInstanceOf(FolderOutside)
  await expect(resolveAllowed(join(root, 'app'), [])).rejects.toBeInstanceOf(FolderOutside)
})
