import { chmodSync, mkdirSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type FileLock, takeFileLock } from '../platform/file-lock.ts'
import { currentHolder, type FolderHolder, removeHolder, writeHolder } from './data-folder-holder.ts'

/** Another process uses the folder; the message names it. */
export class DataFolderInUse extends Error {
  override name = 'DataFolderInUse'
}

export interface DataFolder {
  readonly path: string
  /** Releases the lock. It is also released when this process ends. */
  release(): void
}

/** A command that stops the projects holds the folder for a short time; a start waits for it. */
const maxDownMs = 30_000
/** A worker whose supervisor was killed ends a moment later. Until then it holds the lock, and the holder file names no live process. */
const maxOrphanMs = 2_000
const retryMs = 100

/**
 * Creates the folder, accessible to its owner only, and locks it for this process. The kernel releases the lock when the process
 * ends. The holder file next to the lock says which process it is.
 */
export async function openDataFolder(
  path: string,
  { purpose = 'up', version, pid = process.pid }: Partial<Pick<FolderHolder, 'purpose' | 'version' | 'pid'>> = {},
): Promise<DataFolder> {
  makeFolder(path)
  // Subfolders of `projects` can be local projects.
  makeFolder(join(path, 'projects'))
  const lock = await takeLock(path)
  try {
    writeHolder(path, { pid, purpose, ...(version ? { version } : {}) })
  } catch (error) {
    lock.release()
    throw error
  }
  let isHeld = true
  return {
    path,
    release: () => {
      if (!isHeld) return
      isHeld = false
      // The holder file is removed before the lock is released: afterwards it could be the file of the next holder.
      removeHolder(path)
      lock.release()
    },
  }
}

async function takeLock(path: string): Promise<FileLock> {
  const begun = performance.now()
  for (;;) {
    const lock = takeFileLock(join(path, 'in-use.lock'))
    if (lock) return lock
    const holder = await waitForHolder(path)
    const maxWaitMs = holder?.purpose === 'down' ? maxDownMs : holder ? 0 : maxOrphanMs
    if (performance.now() - begun >= maxWaitMs)
      throw new DataFolderInUse(
        `${path} is in use by ${describe(holder)}. Stop it first, or set BERTH_DATA_DIR to another folder.`,
      )
    await pause(retryMs)
  }
}

function makeFolder(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 })
    chmodSync(path, 0o700)
  } catch (cause) {
    throw new Error(`The data folder ${path} cannot be created: ${cause instanceof Error ? cause.message : cause}`, { cause })
  }
}

/** The holder's file may not be written yet, or be that of a dead process: waits until the file is current. */
async function waitForHolder(path: string): Promise<FolderHolder | undefined> {
  for (let attempt = 0; attempt < 20; attempt++) {
    const holder = currentHolder(path)
    if (holder) return holder
    await pause(50)
  }
  return undefined
}

function describe(holder: FolderHolder | undefined): string {
  if (!holder) return 'another process'
  const onHost = holder.host === hostname() ? '' : ` on ${holder.host}`
  return `another process, pid ${holder.pid}${onHost}, since ${holder.since}`
}
