import { constants } from 'node:fs'
import { copyFile, type FileHandle, mkdir, open, readdir, readlink, realpath, symlink } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { FolderMissing, FolderOutside, type LocalRoots, NotAFolder, rulesOf } from './allowed-folder.ts'

const neverCopied = new Set(['.git', 'node_modules'])
/** A file that is none after all (a pipe, a device) must not make the open wait, nor a link be followed. */
const asFile = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
const asFolder = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_DIRECTORY

interface Copying {
  /** The folder that is copied, as a real path. */
  root: string
  abort: AbortSignal | undefined
}

/**
 * Copies a folder below the roots. It is judged by what was opened, not by its name, and from there on each entry is opened
 * in the folder that is held open: a link that is swapped in meanwhile leads nowhere. Links that leave the folder are left
 * out, the others lead to the same place in the copy; so are pipes, devices, `.git` and `node_modules`.
 */
export async function copyFolder(path: string, into: string, local: LocalRoots, abort?: AbortSignal): Promise<void> {
  const isAllowed = await rulesOf(local)
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
    return await open(path, asFolder)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') throw new FolderMissing(path)
    if (code === 'ENOTDIR' || code === 'ELOOP') throw new NotAFolder(path)
    throw error
  }
}

/** A name that leads to what is open, whatever its own name leads to by now; elsewhere than on Linux there is none. */
const openName =
  process.platform === 'linux' ? ({ fd }: FileHandle) => `/proc/self/fd/${fd}` : (_: FileHandle, name: string) => name

const realPathOf = (folder: FileHandle, path: string): Promise<string> =>
  process.platform === 'linux' ? readlink(openName(folder, path)) : realpath(path)

async function copyInto(folder: FileHandle, at: string, into: string, copying: Copying): Promise<void> {
  await mkdir(into)
  const here = openName(folder, at)
  for (const entry of await readdir(here, { withFileTypes: true })) {
    copying.abort?.throwIfAborted()
    if (neverCopied.has(entry.name)) continue
    const [from, to] = [join(here, entry.name), join(into, entry.name)]
    if (entry.isSymbolicLink()) await copyLink(from, join(at, entry.name), to, copying)
    else if (entry.isDirectory()) await withOpen(from, asFolder, (inner) => copyInto(inner, join(at, entry.name), to, copying))
    else if (entry.isFile()) await withOpen(from, asFile, (file) => copyContent(file, from, to))
  }
}

/** What is another thing by now than the listing said, or gone, is left out. */
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

/** To where it really leads, from its own place: in the copy that is the same file, by a way without a link. */
async function copyLink(from: string, at: string, to: string, { root }: Copying): Promise<void> {
  const target = await realpath(from).catch(() => null)
  if (target === null || (target !== root && !target.startsWith(root + sep))) return
  await symlink(relative(dirname(at), target) || '.', to)
}
