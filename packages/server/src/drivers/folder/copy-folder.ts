import { constants } from 'node:fs'
import { copyFile, type FileHandle, mkdir, open, readdir, readlink, realpath, symlink } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { allowedPredicate, FolderMissing, FolderOutside, type LocalRoots, NotAFolder } from './allowed-folder.ts'

const excludedNames = new Set(['.git', 'node_modules'])
/** O_NONBLOCK keeps a pipe or device from blocking the open; O_NOFOLLOW refuses a symlink. */
const fileFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
const folderFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_DIRECTORY

interface CopyContext {
  /** Real path of the copied folder. */
  root: string
  abort: AbortSignal | undefined
}

/**
 * Copies a folder below the roots. The check uses the opened folder, not its name, and each entry is opened relative to the
 * open folder: a symlink that is swapped in meanwhile is not followed. Symlinks that leave the folder are left out, the others
 * point to the same place in the copy; pipes, devices, `.git` and `node_modules` are left out too.
 */
export async function copyFolder(path: string, into: string, local: LocalRoots, abort?: AbortSignal): Promise<void> {
  const isAllowed = await allowedPredicate(local)
  const folder = await openFolder(path)
  try {
    const root = await realPathOf(folder, path)
    if (!isAllowed(root)) throw new FolderOutside(path)
    await copyInto(folder, root, into, { root, abort })
  } finally {
    await folder.close()
  }
}

async function openFolder(path: string): Promise<FileHandle> {
  try {
    return await open(path, folderFlags)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') throw new FolderMissing(path)
    if (code === 'ENOTDIR' || code === 'ELOOP') throw new NotAFolder(path)
    throw error
  }
}

/** A path to the open file, which stays valid when its name changes; exists only on Linux. */
const openName =
  process.platform === 'linux' ? ({ fd }: FileHandle) => `/proc/self/fd/${fd}` : (_: FileHandle, name: string) => name

const realPathOf = (folder: FileHandle, path: string): Promise<string> =>
  process.platform === 'linux' ? readlink(openName(folder, path)) : realpath(path)

async function copyInto(folder: FileHandle, at: string, into: string, copying: CopyContext): Promise<void> {
  await mkdir(into)
  const openPath = openName(folder, at)
  for (const entry of await readdir(openPath, { withFileTypes: true })) {
    copying.abort?.throwIfAborted()
    if (excludedNames.has(entry.name)) continue
    const [from, to] = [join(openPath, entry.name), join(into, entry.name)]
    if (entry.isSymbolicLink()) await copyLink(from, join(at, entry.name), to, copying)
    else if (entry.isDirectory()) await withOpen(from, folderFlags, (inner) => copyInto(inner, join(at, entry.name), to, copying))
    else if (entry.isFile()) await withOpen(from, fileFlags, (file) => copyContent(file, from, to))
  }
}

/** An entry that changed its type since it was listed, or was deleted, is left out. */
async function withOpen(path: string, flags: number, use: (handle: FileHandle) => Promise<void>): Promise<void> {
  const handle = await open(path, flags).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ELOOP' || error.code === 'ENOTDIR' || error.code === 'ENOENT' || error.code === 'ENXIO') return null
    throw error
  })
  if (!handle) return
  try {
    await use(handle)
  } finally {
    await handle.close()
  }
}

async function copyContent(file: FileHandle, name: string, to: string): Promise<void> {
  if ((await file.stat()).isFile()) await copyFile(openName(file, name), to)
}

/** Creates a relative symlink to the resolved target. In the copy, the same relative path leads to the copied target. */
async function copyLink(from: string, at: string, to: string, { root }: CopyContext): Promise<void> {
  const target = await realpath(from).catch(() => null)
  if (target === null || (target !== root && !target.startsWith(root + sep))) return
  await symlink(relative(dirname(at), target) || '.', to)
}
