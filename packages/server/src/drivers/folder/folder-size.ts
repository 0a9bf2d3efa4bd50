import { closeSync, lstatSync, openSync, readdirSync, type Stats } from 'node:fs'
import { folderFlags, openFolderPath } from './directory-handle.ts'

/**
 * Nesting limit: each folder is held open while its subfolders are read. Only folders that are meant to evade the measurement
 * are nested deeper.
 */
const maxDepth = 512
/** Size of a directory entry with its metadata, also for an empty file. */
export const bytesPerEntry = 1024

export interface FolderSize {
  /** Size of the files' content, each name counted. */
  bytes: number
  /** Size on disk, each file counted once; Infinity where the folder is too deep to measure. */
  diskBytes: number
}

/** Folders to measure in order, until their size on disk exceeds the limit that the caller needs to know. */
export interface SizeTask {
  folders: readonly string[]
  maxDiskBytes: number
}

/**
 * Blocks on disk access for each name, so it runs in a worker thread. A process that can write to a folder may swap a name for
 * a symlink meanwhile, but cannot lead the measurement outside: each folder is held open, and names are read in that very
 * folder.
 */
export function sizesOf({ folders, maxDiskBytes }: SizeTask): FolderSize[] {
  const sum = new SizeSum(maxDiskBytes)
  return folders.map((folder) => sum.sizeOf(folder))
}

class SizeSum {
  readonly #maxDiskBytes: number
  /** Files with several hard links that have been counted. */
  readonly #seen = new Set<string>()
  #totalDiskBytes = 0
  #current: FolderSize = { bytes: 0, diskBytes: 0 }

  constructor(maxDiskBytes: number) {
    this.#maxDiskBytes = maxDiskBytes
  }

  sizeOf(folder: string): FolderSize {
    this.#current = { bytes: 0, diskBytes: 0 }
    this.#addFolder(Buffer.from(folder), 0)
    this.#totalDiskBytes += this.#current.diskBytes
    return this.#current
  }

  #addFolder(path: Buffer, depth: number): void {
    if (depth > maxDepth) {
      this.#current.diskBytes = Number.POSITIVE_INFINITY
      return
    }
    const handle = openFolder(path)
    if (handle === null) return
    try {
      const inside = Buffer.concat([openFolderPath(handle, path), Buffer.from('/')])
      for (const name of namesIn(inside)) {
        if (this.#totalDiskBytes + this.#current.diskBytes > this.#maxDiskBytes) return
        const at = Buffer.concat([inside, name])
        const found = statOf(at)
        if (!found) continue
        this.#add(found)
        if (found.isDirectory()) this.#addFolder(at, depth + 1)
      }
    } finally {
      closeSync(handle)
    }
  }

  #add(found: Stats): void {
    if (!found.isDirectory()) this.#current.bytes += found.size
    if (!found.isDirectory() && found.nlink > 1) {
      const file = `${found.dev} ${found.ino}`
      if (this.#seen.has(file)) return
      this.#seen.add(file)
    }
    this.#current.diskBytes += found.blocks * 512 + bytesPerEntry
  }
}

function openFolder(path: Buffer): number | null {
  try {
    return openSync(path, folderFlags)
  } catch {
    return null
  }
}

function namesIn(folder: Buffer): Buffer[] {
  try {
    return readdirSync(folder, { encoding: 'buffer' })
  } catch {
    return []
  }
}

function statOf(path: Buffer): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}
