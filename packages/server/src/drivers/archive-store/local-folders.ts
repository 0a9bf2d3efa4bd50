import { constants } from 'node:fs'
import { mkdir, open, rmdir } from 'node:fs/promises'
import { isAbsolute, relative, resolve, sep } from 'node:path'
import { DirectoryHandle } from '../folder/directory-handle.ts'
import { StoreFailure } from './store-failure.ts'

/** The first root that contains the path, by its text alone: symlinks are checked when it is opened. */
export function rootOf(path: string, roots: readonly string[]): string | undefined {
  return isAbsolute(path) && !path.includes('\0') ? roots.find((root) => partsBelow(path, root) !== undefined) : undefined
}

function partsBelow(path: string, root: string): string[] | undefined {
  const relativePath = relative(resolve(root), resolve(path))
  if (relativePath === '') return []
  const parts = relativePath.split(sep)
  return parts[0] === '..' || isAbsolute(relativePath) ? undefined : parts
}

/** Opens the folder of a destination part by part from the root: no symlink on the way is followed. */
export async function enterDestination({ path, root }: { path: string; root: string }): Promise<DirectoryHandle> {
  const parts = isAbsolute(path) ? partsBelow(path, root) : undefined
  if (!parts) throw new StoreFailure('denied', `${path} is not inside ${root}, the folder for backups`)
  // Symlinks of the root itself are the operator's own.
  const top = (await DirectoryHandle.open(`${root}/.`)) ?? (await createAndOpen(root))
  if (!top) throw new StoreFailure('denied', `${root} is not a folder`)
  return enterParts(top, parts)
}

async function createAndOpen(root: string): Promise<DirectoryHandle | null> {
  await mkdir(root, { recursive: true, mode: 0o700 })
  return DirectoryHandle.open(`${root}/.`)
}

/** Creates missing folders. Closes the given folder; the caller must close the returned one. */
export async function enterParts(top: DirectoryHandle, parts: readonly string[]): Promise<DirectoryHandle> {
  let folder = top
  for (const part of parts) {
    const outer = folder
    try {
      folder = (await outer.enter(part)) ?? (await createDurably(outer, part))
    } finally {
      await outer[Symbol.asyncDispose]()
    }
  }
  return folder
}

async function createDurably(outer: DirectoryHandle, part: string): Promise<DirectoryHandle> {
  try {
    const inner = await outer.make(part)
    await syncFolder(outer)
    return inner
  } catch (error) {
    if (error instanceof Error && !('code' in error))
      throw new StoreFailure('denied', `${part} is a link or a file where a folder of backups should be`, { cause: error })
    throw error
  }
}

/** A new name is durable only after its folder was synced, too. */
export async function syncFolder(folder: DirectoryHandle): Promise<void> {
  const handle = await open(folder.at('.'), constants.O_RDONLY | constants.O_DIRECTORY)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Null when a part of the path does not exist or is not a folder. */
export async function findParts(top: DirectoryHandle, parts: readonly string[]): Promise<DirectoryHandle | null> {
  let folder: DirectoryHandle | null = top
  for (const part of parts) {
    const outer: DirectoryHandle = folder
    try {
      folder = await outer.enter(part)
    } finally {
      await outer[Symbol.asyncDispose]()
    }
    if (!folder) return null
  }
  return folder
}

/** Removes empty folders from the innermost up; a folder that another process fills meanwhile is kept. */
export async function removeEmpty(enter: () => Promise<DirectoryHandle | null>, parts: readonly string[]): Promise<void> {
  for (let length = parts.length; length > 0; length -= 1) {
    const top = await enter()
    const outer = top && (await findParts(top, parts.slice(0, length - 1)))
    if (!outer) return
    try {
      await rmdir(outer.at(parts[length - 1]!))
    } catch {
      return
    } finally {
      await outer[Symbol.asyncDispose]()
    }
  }
}
