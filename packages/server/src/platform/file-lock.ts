import { DatabaseSync } from 'node:sqlite'

export interface FileLock {
  release(): void
}

const sqliteBusy = 5
/** A connection that nobody refers to is collected and closed, and its lock with it: what is held is referred to from here. */
const held = new Set<DatabaseSync>()

/**
 * An exclusive lock between processes on one machine, containers included, or null when another holds it.
 * It is an SQLite lock, hence one of the kernel's: it ends with its process, also by `kill -9`, and no pid can be mistaken for its holder.
 * Nothing else may open the file: closing any handle of it in this process would let go of the kernel's lock.
 */
export function takeFileLock(path: string, { waitMs = 0 } = {}): FileLock | null {
  const database = new DatabaseSync(path, { timeout: waitMs })
  try {
    database.exec('BEGIN EXCLUSIVE')
  } catch (cause) {
    database.close()
    if (isBusy(cause)) return null
    throw new Error(`${path} cannot be locked: ${cause instanceof Error ? cause.message : cause}`, { cause })
  }
  held.add(database)
  return {
    release: () => {
      if (held.delete(database)) database.close()
    },
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && (Number(error.errcode) & 0xff) === sqliteBusy
}
