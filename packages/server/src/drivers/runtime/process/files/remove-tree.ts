import { randomBytes } from 'node:crypto'
import { mkdirSync, renameSync } from 'node:fs'
import { chmod, rename, rmdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { DirectoryHandle } from '../../../folder/directory-handle.ts'

/** Hook for tests, called between each check and the step that relies on it. */
export type BeforeStep = (name: Buffer) => void | Promise<void>

const isRoot = process.getuid?.() === 0
const randomName = () => randomBytes(12).toString('hex')

/** Moves a tree to the trash atomically. `emptyTrash` removes it later. */
export function discardTree(path: string, trash: string): void {
  mkdirSync(trash, { recursive: true, mode: 0o700 })
  try {
    renameSync(path, join(trash, randomName()))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}

/**
 * Removes a tree that a project may still be changing. Moves it to a folder that only Berth can access, and moves every folder
 * inside it to the top before emptying it. Each step names an entry of an open folder. A link that replaced a folder is removed
 * itself, and the depth is unlimited.
 */
export async function removeTree(path: string, trash: string, pause?: BeforeStep): Promise<void> {
  const name = randomName()
  mkdirSync(trash, { recursive: true, mode: 0o700 })
  try {
    await rename(path, join(trash, name))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw error
  }
  await removeNames(trash, [Buffer.from(name)], pause)
}

/** Removes everything in the trash, including leftovers of a killed control plane. */
export async function emptyTrash(trash: string): Promise<void> {
  const handle = await DirectoryHandle.open(trash)
  if (!handle) return
  const names = await handle.names()
  await handle[Symbol.asyncDispose]()
  await removeNames(trash, names)
}

async function removeNames(trash: string, names: Buffer[], pause?: BeforeStep): Promise<void> {
  await using top = await DirectoryHandle.open(trash)
  if (!top) return
  for (let name = names.pop(); name; name = names.pop()) {
    await pause?.(name)
    if (await tryRemove(() => unlink(top.at(name as Buffer)))) continue
    const subfolders = await emptyFolder(top, name, pause)
    if (!(await tryRemove(() => rmdir(top.at(name as Buffer))))) names.push(name)
    names.push(...subfolders)
  }
}

/** Empties a folder. Moves its subfolders to the top and returns their new names. */
async function emptyFolder(top: DirectoryHandle, name: Buffer, pause?: BeforeStep): Promise<Buffer[]> {
  const moved: Buffer[] = []
  await using folder = await top.enter(name)
  if (!folder) return moved
  await makeWritable(folder)
  for (const child of await folder.names().catch(() => [])) {
    await pause?.(child)
    if (await tryRemove(() => unlink(folder.at(child)))) continue
    const newName = Buffer.from(randomName())
    if (!isRoot) await makeChildWritable(folder, child)
    if (await tryRemove(() => rename(folder.at(child), top.at(newName)))) moved.push(newName)
  }
  return moved
}

/** Makes a folder writable. Only root can empty or move a folder without that. */
async function makeWritable(folder: DirectoryHandle): Promise<void> {
  if (!isRoot) await chmod(folder.path, 0o700)
}

async function makeChildWritable(folder: DirectoryHandle, child: Buffer): Promise<void> {
  await using inner = await folder.enter(child)
  if (inner) await makeWritable(inner)
}

/** Returns false if other entries must be removed first. */
async function tryRemove(remove: () => Promise<void>): Promise<boolean> {
  try {
    await remove()
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return true
    // ENOTDIR: a link or a file has replaced a folder.
    if (code === 'EISDIR' || code === 'ENOTEMPTY' || code === 'EEXIST' || code === 'ENOTDIR') return false
    if (code === 'EPERM' && process.platform !== 'linux') return false
    throw error
  }
}
