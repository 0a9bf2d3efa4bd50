import { readdir, stat, statfs } from 'node:fs/promises'
import { HeldFolder } from '../../folder/held-folder.ts'

/** Where somebody hides what they write; nobody else has so many folders in each other. */
const deepest = 512
/** A name and what the file system notes of it, also for an empty file. */
const bytesOfAName = 1024
const megabyte = 1024 * 1024
/** The disk has filled up by so much since the last look: it is time for another. */
const worthALookBytes = 64 * megabyte
/** Between two looks that nothing gives cause for; twice as long after each that found nothing. */
const firstPauseMs = 60_000
const longestPauseMs = 30 * 60_000

export interface DiskLimit {
  /** What was there before counts for nothing; what it grows by does. */
  grows: string
  /** How much that was; left out: what is there at the first look. */
  before?: number | undefined
  /** What counts as a whole. */
  written: readonly string[]
  limitMb: number
}

/**
 * Says whether a program keeps more on the disk than it may. To look is dear, and so it is done when the disk as a whole has
 * filled up noticeably, and now and then: a minute after the start, later more seldom.
 */
export class DiskLook {
  readonly #limit: DiskLimit
  #before: number | null = null
  #free = Number.POSITIVE_INFINITY
  #lookedAt = 0
  #pauseMs = firstPauseMs

  constructor(limit: DiskLimit) {
    this.#limit = limit
    this.#before = limit.before ?? null
  }

  get limitMb(): number {
    return this.#limit.limitMb
  }

  /** Whatever it was at the last look, the next one is at once. */
  lookAgain(): void {
    this.#lookedAt = 0
    this.#pauseMs = firstPauseMs
  }

  /** With so much room left on the disk: is it time to look? Room that others have made hides nothing for long. */
  isDue(freeBytes: number): boolean {
    if (this.#lookedAt > 0) this.#free = Math.max(this.#free, freeBytes)
    const noticed = Math.min(worthALookBytes, (this.#limit.limitMb * megabyte) / 4)
    return this.#free - freeBytes > noticed || Date.now() - this.#lookedAt > this.#pauseMs
  }

  /** `pids`: of the program, for files that it holds open and that have no name any more. */
  async isOver(pids: readonly number[] = []): Promise<boolean> {
    const { grows, written, limitMb } = this.#limit
    const limit = limitMb * megabyte
    const free = await freeBytesAt(grows)
    if (!this.isDue(free)) return false
    const isForNoCause = this.#lookedAt > 0 && Date.now() - this.#lookedAt > this.#pauseMs
    this.#pauseMs = isForNoCause ? Math.min(longestPauseMs, this.#pauseMs * 2) : firstPauseMs
    this.#free = free
    this.#lookedAt = Date.now()
    const use = new DiskUse((this.#before ?? Number.POSITIVE_INFINITY) + limit)
    await use.add(grows)
    this.#before ??= use.bytes
    for (const folder of written) await use.add(folder)
    for (const pid of pids) await use.addNameless(pid, (await stat(grows)).dev)
    return use.bytes - this.#before > limit
  }
}

/** Room that is left on the disk of that folder. */
export async function freeBytesAt(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize
}

export async function diskUseOf(path: string): Promise<number> {
  const use = new DiskUse(Number.POSITIVE_INFINITY)
  await use.add(path)
  return use.bytes
}

/** Adds up what takes up room, each file once, until it is more than anybody needs to know. */
class DiskUse {
  readonly #enough: number
  /** Files that have several names, or none. */
  readonly #seen = new Set<number>()
  bytes = 0

  constructor(enough: number) {
    this.#enough = enough
  }

  async add(path: string): Promise<void> {
    await using folder = await HeldFolder.open(path)
    if (folder) await this.#addAll(folder, 0)
  }

  async addNameless(pid: number, device: number): Promise<void> {
    for (const fd of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
      const found = await stat(`/proc/${pid}/fd/${fd}`).catch(() => null)
      if (found?.isFile() && found.nlink === 0 && found.dev === device) this.#addFile(found)
    }
  }

  async #addAll(folder: HeldFolder, depth: number): Promise<void> {
    if (depth > deepest) this.bytes = Number.POSITIVE_INFINITY
    for (const name of await folder.names().catch(() => [])) {
      if (this.bytes > this.#enough) return
      const found = await folder.stat(name).catch(() => null)
      if (!found) continue
      this.#addFile(found)
      if (!found.isDirectory()) continue
      await using inner = await folder.enter(name).catch(() => null)
      if (inner) await this.#addAll(inner, depth + 1)
    }
  }

  #addFile({ ino, nlink, blocks }: { ino: number; nlink: number; blocks: number }): void {
    if (nlink !== 1) {
      if (this.#seen.has(ino)) return
      this.#seen.add(ino)
    }
    this.bytes += blocks * 512 + bytesOfAName
  }
}
