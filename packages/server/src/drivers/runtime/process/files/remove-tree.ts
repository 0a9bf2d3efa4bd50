import { randomBytes } from 'node:crypto'
import { mkdirSync, renameSync } from 'node:fs'
import { chmod, rename, rmdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { DirectoryHandle } from '../../../folder/directory-handle.ts'

/** Hook for tests, called between each check and the step that relies on it. */
export type Pause = (name: Buffer) => void | Promise<void>

const isRoot = process.getuid?.() === 0
const freshName = () => randomBytes(12).toString('hex')

/** Moves a tree to the trash atomically. `emptyTrash` removes it later. */
export function discardTree(path: string, trash: string): void {
  mkdirSync(trash, { recursive: true, mode: 0o700 })
  try {
    renameSync(path, join(trash, freshName()))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}

/**
 * Removes a tree that a project may still be changing. Moves it to a folder that only Berth can access, and moves every folder
 * inside it to the top before emptying it. Each step names an entry of a folder that is held open, so a link that replaced a
 * folder is itself removed, and any depth works.
 */
export async function removeTree(path: string, trash: string, pause?: Pause): Promise<void> {
  const name = freshName()
  mkdirSync(trash, { recursive: true, mode: 0o700 })
  try {
    await rename(path, join(trash, name))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw error
  }
  await removeNames(trash, [Buffer.from(name)], pause)
}

/** Removes everything in the trash, including what a killed control plane left there. */
export async function emptyTrash(trash: string): Promise<void> {
  const held = await DirectoryHandle.open(trash)
  if (!held) return
  const names = await held.names()
  await held[Symbol.asyncDispose]()
  await removeNames(trash, names)
}

async function removeNames(trash: string, names: Buffer[], pause?: Pause): Promise<void> {
  await using top = await DirectoryHandle.open(trash)
  if (!top) return
  for (let name = names.pop(); name; name = names.pop()) {
    await pause?.(name)
    if (await removed(() => unlink(top.at(name as Buffer)))) continue
    const more = await emptied(top, name, pause)
    if (!(await removed(() => rmdir(top.at(name as Buffer))))) names.push(name)
    names.push(...more)
  }
}

/** Empties a folder. Moves its subfolders to the top and returns their new names. */
async function emptied(top: DirectoryHandle, name: Buffer, pause?: Pause): Promise<Buffer[]> {
  const moved: Buffer[] = []
  await using folder = await top.enter(name)
  if (!folder) return moved
  await openUp(folder)
  for (const child of await folder.names().catch(() => [])) {
    await pause?.(child)
    if (await removed(() => unlink(folder.at(child)))) continue
    const location = Buffer.from(freshName())
    if (!isRoot) await openUpNamed(folder, child)
    if (await removed(() => rename(folder.at(child), top.at(location)))) moved.push(location)
  }
  return moved
}

/** Makes a folder writable. Only root can empty or move a folder without that. */
async function openUp(folder: DirectoryHandle): Promise<void> {
  if (!isRoot) await chmod(folder.path, 0o700)
}

async function openUpNamed(folder: DirectoryHandle, child: Buffer): Promise<void> {
  await using inner = await folder.enter(child)
  if (inner) await openUp(inner)
}

/** Returns false if other entries must be removed first. */
async function removed(remove: () => Promise<void>): Promise<boolean> {
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
