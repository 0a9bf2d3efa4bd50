import { closeSync, lstatSync, openSync, readdirSync, type Stats } from 'node:fs'
import { folderFlags, heldPath } from './held-folder.ts'

/** Each level is held open while those below it are read. Nobody but who hides something has so many folders in each other. */
const deepest = 512
/** A name and what the file system notes of it, also for an empty file. */
export const bytesOfAName = 1024

export interface FolderSize {
  /** Of what its files hold, each name counted. */
  bytes: number
  /** What it takes up on the disk, each file counted once; Infinity where it is too deep to tell. */
  diskBytes: number
}

/** What is measured: each folder after the ones before it, until they take up more of the disk than anybody needs to know. */
export interface SizeTask {
  folders: readonly string[]
  enoughDiskBytes: number
}

/**
 * Waits for the disk at each name, so it is for a thread of its own. Whoever may write to a folder can swap a name for a link meanwhile, and
 * leads nobody out of it: each folder is held open, and asked for the names in this very folder.
 */
export function sizesOf({ folders, enoughDiskBytes }: SizeTask): FolderSize[] {
  const adding = new Adding(enoughDiskBytes)
  return folders.map((folder) => adding.sizeOf(folder))
}

class Adding {
  readonly #enough: number
  /** Files that have several names. */
  readonly #seen = new Set<string>()
  #all = 0
  #one: FolderSize = { bytes: 0, diskBytes: 0 }

  constructor(enough: number) {
    this.#enough = enough
  }

  sizeOf(folder: string): FolderSize {
    this.#one = { bytes: 0, diskBytes: 0 }
    this.#addFolder(Buffer.from(folder), 0)
    this.#all += this.#one.diskBytes
    return this.#one
  }

  #addFolder(path: Buffer, depth: number): void {
    if (depth > deepest) {
      this.#one.diskBytes = Number.POSITIVE_INFINITY
      return
    }
    const handle = held(path)
    if (handle === null) return
    try {
      const inside = Buffer.concat([heldPath(handle, path), Buffer.from('/')])
      for (const name of namesIn(inside)) {
        if (this.#all + this.#one.diskBytes > this.#enough) return
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
    if (!found.isDirectory()) this.#one.bytes += found.size
    if (!found.isDirectory() && found.nlink > 1) {
      const file = `${found.dev} ${found.ino}`
      if (this.#seen.has(file)) return
      this.#seen.add(file)
    }
    this.#one.diskBytes += found.blocks * 512 + bytesOfAName
  }
}

function held(path: Buffer): number | null {
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
