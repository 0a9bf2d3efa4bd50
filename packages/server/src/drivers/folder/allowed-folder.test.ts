import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { FolderMissing, FolderOutside, NotAFolder, resolveAllowed } from './allowed-folder.ts'

let base: string
let root: string

const allowed = (path: string, roots: readonly string[]) => resolveAllowed(path, { roots, dataDir: join(base, 'kept') })

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
  for (const folder of ['kept/projects/app/.github', 'kept/uploads/one', 'a/.config/berth', 'a/app/.env.d'])
    await mkdir(join(base, folder), { recursive: true })
  await symlink(join(base, 'kept/uploads'), join(root, 'to-uploads'))
  await symlink(join(base, 'kept/uploads/one'), join(base, 'kept/projects/to-upload'))
  await symlink(join(root, '.config'), join(root, 'to-config'))
})
afterAll(() => rm(base, { recursive: true, force: true }))

test('a folder below a root is returned with its real path', async () => {
  expect(await allowed(join(root, 'app'), [root])).toBe(join(root, 'app'))
  expect(await allowed(join(root, 'app/../app/src/'), [root])).toBe(join(root, 'app/src'))
  expect(await allowed(join(root, 'app'), [join(base, 'nowhere'), root])).toBe(join(root, 'app'))
  expect(await allowed(join(root, 'app'), ['/'])).toBe(join(root, 'app'))
})

test('links are resolved first, of the path and of the root', async () => {
  expect(await allowed(join(root, 'in'), [root])).toBe(join(root, 'app'))
  expect(await allowed(join(base, 'root-link/app'), [root])).toBe(join(root, 'app'))
  expect(await allowed(join(root, 'app'), [join(base, 'root-link')])).toBe(join(root, 'app'))
  await expect(allowed(join(root, 'out'), [root])).rejects.toBeInstanceOf(FolderOutside)
  await expect(allowed(join(root, 'out/app'), [root])).rejects.toBeInstanceOf(FolderOutside)
})

test('a folder whose name starts with the name of a root is outside', async () => {
  await expect(allowed(join(base, 'ab'), [root])).rejects.toBeInstanceOf(FolderOutside)
  await expect(allowed(join(base, 'ab/app'), [root])).rejects.toBeInstanceOf(FolderOutside)
})

test('a root is not below itself', async () => {
  await expect(allowed(root, [root])).rejects.toBeInstanceOf(FolderOutside)
  await expect(allowed(base, [root])).rejects.toBeInstanceOf(FolderOutside)
})

test('a `..` is resolved from the real folder, not from the symlink', async () => {
  await expect(allowed(join(root, 'app/../../ab'), [root])).rejects.toBeInstanceOf(FolderOutside)
  await expect(allowed(`${root}/out/../a`, [root])).rejects.toBeInstanceOf(FolderOutside)
})

test('a missing folder and a file are reported only below a root', async () => {
  await expect(allowed(join(root, 'missing'), [root])).rejects.toBeInstanceOf(FolderMissing)
  await expect(allowed(join(root, 'app/missing/deep'), [root])).rejects.toBeInstanceOf(FolderMissing)
  await expect(allowed(join(root, 'file'), [root])).rejects.toBeInstanceOf(NotAFolder)
  await expect(allowed(join(root, 'file/x'), [root])).rejects.toBeInstanceOf(NotAFolder)
  await expect(allowed(join(base, 'missing'), [root])).rejects.toBeInstanceOf(FolderOutside)
  await expect(allowed(join(root, 'out/missing'), [root])).rejects.toBeInstanceOf(FolderOutside)
  await expect(allowed(join(root, 'loop'), [root])).rejects.toThrow('cannot be read')
})

test('relative paths, NUL and no roots are refused', async () => {
  await expect(allowed('app', [root])).rejects.toBeInstanceOf(FolderOutside)
  await expect(allowed(`${root}/app\0`, [root])).rejects.toBeInstanceOf(FolderOutside)
  await expect(allowed(join(root, 'app'), [])).rejects.toBeInstanceOf(FolderOutside)
})

test('only the projects folder of the data folder is allowed, whatever the roots are', async () => {
  const kept = join(base, 'kept')
  for (const roots of [['/'], [base], [kept], [join(kept, 'projects')], [join(kept, 'uploads')]])
    for (const path of ['', 'uploads', 'uploads/one', 'projects', 'projects/to-upload', 'projects/../uploads/one'])
      await expect(allowed(join(kept, path), roots), `${path} below ${roots}`).rejects.toBeInstanceOf(FolderOutside)
  expect(await allowed(join(kept, 'projects/app'), [join(kept, 'projects')])).toBe(join(kept, 'projects/app'))
  expect(await allowed(join(kept, 'projects/app'), [base])).toBe(join(kept, 'projects/app'))
  await expect(allowed(join(root, 'to-uploads'), [base]), 'a link that leads there').rejects.toBeInstanceOf(FolderOutside)
  await expect(allowed(join(root, 'to-uploads/one'), [root, kept])).rejects.toBeInstanceOf(FolderOutside)
})

test('a folder that contains the data folder is refused, since a copy would contain the keys', async () => {
  await expect(allowed(base, ['/'])).rejects.toBeInstanceOf(FolderOutside)
  await expect(allowed(base, [dirname(base)])).rejects.toBeInstanceOf(FolderOutside)
  expect(await allowed(root, [base])).toBe(root)
})

test('a dot-folder below the root is refused at any depth, also through a symlink; a root may be in one', async () => {
  for (const path of ['.config', '.config/berth', 'to-config', 'to-config/berth', 'app/.env.d'])
    await expect(allowed(join(root, path), [root]), path).rejects.toBeInstanceOf(FolderOutside)
  expect(await allowed(join(root, '.config/berth'), [join(root, '.config')])).toBe(join(root, '.config/berth'))
})
