import { DatabaseSync } from 'node:sqlite'
import { errorMessage } from './error-message.ts'

export interface FileLock {
  release(): void
}

const sqliteBusy = 5
const sqliteIoError = 10
/** Number of retries after a transient disk error, and the pause before each. */
const ioRetries = 4
const ioPauseMs = 250
/**
 * References to the open lock databases. An unreferenced connection would be garbage-collected and closed, which releases its lock.
 */
const openLocks = new Set<DatabaseSync>()

/**
 * Takes an exclusive lock between processes on one machine, containers included; returns null if another process holds it. It is an
 * SQLite lock, hence a kernel lock: it is released when its process ends, also by `kill -9`, and there is no stale pid file.
 * Nothing else in this process may open the file: closing any handle of it would release the kernel's lock.
 */
export function takeFileLock(path: string, { waitMs = 0, open = openLocked } = {}): FileLock | null {
  let database: DatabaseSync
  for (let retriesLeft = ioRetries; ; retriesLeft--)
    try {
      database = open(path, waitMs)
      break
    } catch (cause) {
      const code = codeOf(cause)
      if (code === sqliteBusy) return null
      if (code !== sqliteIoError || retriesLeft === 0)
        throw new Error(`${path} cannot be locked: ${errorMessage(cause)}`, { cause })
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ioPauseMs)
    }
  openLocks.add(database)
  return {
    release: () => {
      if (openLocks.delete(database)) database.close()
    },
  }
}

function openLocked(path: string, waitMs: number): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: waitMs })
  try {
    database.exec('BEGIN EXCLUSIVE')
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

/** The primary result code, without the bits of SQLite's extended result code. */
function codeOf(error: unknown): number | null {
  return error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : null
}
