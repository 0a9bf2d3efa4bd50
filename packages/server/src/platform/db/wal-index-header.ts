import { closeSync, openSync, readSync } from 'node:fs'

/** Every commit of any process rewrites these first bytes of the `-shm` file before it returns. */
const headerBytes = 48

/** Open files by path. Closing one drops the locks that SQLite holds on it in this process, so it is closed after the last use. */
const openFiles = new Map<string, { fd: number; users: number }>()

/**
 * Tells whether any process may have committed to a SQLite database in WAL mode, from the header of its shared index. Reading it
 * takes no lock, unlike `pragma data_version`.
 */
export class WalIndexHeader {
  readonly #path: string
  #fd: number | null = null
  #last = Buffer.alloc(headerBytes)
  #current = Buffer.alloc(headerBytes)

  constructor(databaseFile: string) {
    this.#path = `${databaseFile}-shm`
  }

  /** Whether the header differs from the one at the last call. True at the first call, and where it cannot be read. */
  hasChanged(): boolean {
    this.#fd ??= openShared(this.#path)
    if (this.#fd === null || readSync(this.#fd, this.#current, 0, headerBytes, 0) < headerBytes) return true
    if (this.#current.equals(this.#last)) return false
    const read = this.#current
    this.#current = this.#last
    this.#last = read
    return true
  }

  /** Must be called after the connections of this process to the database are closed. */
  close(): void {
    if (this.#fd !== null) closeShared(this.#path)
    this.#fd = null
  }
}

function openShared(path: string): number | null {
  const open = openFiles.get(path)
  if (open) {
    open.users += 1
    return open.fd
  }
  try {
    const fd = openSync(path, 'r')
    openFiles.set(path, { fd, users: 1 })
    return fd
  } catch {
    return null
  }
}

function closeShared(path: string): void {
  const open = openFiles.get(path)
  if (!open) return
  open.users -= 1
  if (open.users > 0) return
  openFiles.delete(path)
  closeSync(open.fd)
}
