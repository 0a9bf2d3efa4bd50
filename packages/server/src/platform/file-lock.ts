import { DatabaseSync } from 'node:sqlite'
import { errorMessage } from './error-message.ts'

export interface FileLock {
  release(): void
}

const sqliteBusy = 5
const sqliteIoError = 10
/** A disk that fails for a moment is asked again, this often and after this long. */
const ioRetries = 4
const ioPauseMs = 250
/** A connection that nobody refers to is collected and closed, and its lock with it: what is held is referred to from here. */
const held = new Set<DatabaseSync>()

/**
 * An exclusive lock between processes on one machine, containers included, or null when another holds it.
 * It is an SQLite lock, hence one of the kernel's: it ends with its process, also by `kill -9`, and no pid can be mistaken for its holder.
 * Nothing else may open the file: closing any handle of it in this process would let go of the kernel's lock.
 */
export function takeFileLock(path: string, { waitMs = 0, open = openLocked } = {}): FileLock | null {
  let database: DatabaseSync
  for (let left = ioRetries; ; left--)
    try {
      database = open(path, waitMs)
      break
    } catch (cause) {
      const code = codeOf(cause)
      if (code === sqliteBusy) return null
      if (code !== sqliteIoError || left === 0) throw new Error(`${path} cannot be locked: ${errorMessage(cause)}`, { cause })
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ioPauseMs)
    }
  held.add(database)
  return {
    release: () => {
      if (held.delete(database)) database.close()
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

/** Without what SQLite adds to it in the upper bytes. */
function codeOf(error: unknown): number | null {
  return error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : null
}
