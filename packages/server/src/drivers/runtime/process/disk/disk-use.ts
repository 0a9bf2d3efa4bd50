import { readdir, stat } from 'node:fs/promises'
import { pauseEnd } from '../../../../platform/pause-end.ts'
import { bytesPerEntry } from '../../../folder/folder-size.ts'
import { measureFolders } from '../../../folder/measure-folder.ts'
import { type FreeSpace, freeSpaceAt } from './free-space.ts'
import { writtenBytes } from './written-bytes.ts'

const megabyte = 1024 * 1024
/** Drop of free space since the last measurement that triggers a check for the cause. */
const checkAfterDropBytes = 64 * megabyte
/** Pause between two periodic measurements. It doubles after each one that finds nothing. */
const firstPauseMs = 60_000
/** Longest pause. Shorter where the kernel does not report the bytes that a program writes. */
const maxPauseMs = { known: 24 * 60 * 60_000, unknown: 30 * 60_000 }
/** Highest share of the time spent on measuring. */
const maxMeasuringShare = 1 / 5

export interface DiskLimit {
  /** Folder of which only the growth counts. */
  growingFolder: string
  /** Size of `growingFolder` at the beginning. Absent: its size at the first measurement. */
  initialBytes?: number | undefined
  /** Folders that count as a whole. */
  countedFolders: readonly string[]
  limitMb: number
}

/** `writes`: the program has written much since the last measurement. `maybe`: it may have. `none`: no need to measure. */
export type Suspicion = 'writes' | 'maybe' | 'none'

/**
 * Checks whether a program exceeds its disk limit. Measuring is expensive. It is done when the free space of the disk has
 * dropped noticeably, and periodically if the program has written something: a minute after the start, later less often.
 */
export class DiskMeasurement {
  readonly #limit: DiskLimit
  #initialBytes: number | null = null
  /** Highest free space since the cause of a drop was last checked. */
  #highestFreeSpace: FreeSpace = { bytes: 0, inodes: 0 }
  #measuredAt = 0
  #nextMeasureAt = 0
  #pauseMs = firstPauseMs
  /** Bytes that the program had written at the last measurement. */
  #writtenBytes = 0
  /** Free space has dropped since the last measurement, whichever program caused it. */
  #hasDropped = false

  constructor(limit: DiskLimit) {
    this.#limit = limit
    this.#initialBytes = limit.initialBytes ?? null
  }

  /** Wall clock time of the last measurement. 0: never. */
  get measuredAt(): number {
    return this.#measuredAt
  }

  /** Makes the next measurement due. Called when a program was started. */
  resetSchedule(): void {
    this.#measuredAt = 0
    this.#writtenBytes = 0
    this.#pauseMs = firstPauseMs
  }

  /** Whether to measure, given the free space. Compares with the highest free space, so that space freed by others hides little. */
  isDue(freeSpace: FreeSpace): boolean {
    this.#highestFreeSpace = {
      bytes: Math.max(this.#highestFreeSpace.bytes, freeSpace.bytes),
      inodes: Math.max(this.#highestFreeSpace.inodes, freeSpace.inodes),
    }
    this.#hasDropped ||= this.#hasDroppedTo(freeSpace)
    if (performance.now() < this.#nextMeasureAt) return false
    return this.#hasDropped || Date.now() - this.#measuredAt > this.#pauseMs
  }

  /** Cheap check, once a measurement is due, whether this program may have filled the disk. */
  async assessWrites(freeSpace: FreeSpace, pids: readonly number[] | undefined): Promise<Suspicion> {
    const hasDroppedAgain = this.#hasDroppedTo(freeSpace)
    if (hasDroppedAgain) this.#highestFreeSpace = freeSpace
    else if (this.#hasDropped || this.#measuredAt === 0) return 'maybe'
    const written = pids ? await writtenBytes(pids) : null
    const hasWritten = written === null || written < this.#writtenBytes || written - this.#writtenBytes > this.#thresholdBytes
    if (hasDroppedAgain) return hasWritten ? 'writes' : 'maybe'
    if (hasWritten || this.#pauseMs >= maxPauseMs.known) return 'maybe'
    // The periodic check of a program that has written little: it counts as a measurement, and the next one is later.
    this.#pauseMs = Math.min(maxPauseMs.known, this.#pauseMs * 2)
    this.#measuredAt = Date.now()
    return 'none'
  }

  /** Measures now. `pids` are the program's processes, whose open deleted files count as well. */
  async exceedsLimit(pids: readonly number[] | undefined): Promise<boolean> {
    const { growingFolder, countedFolders, limitMb } = this.#limit
    const limit = limitMb * megabyte
    this.#highestFreeSpace = await freeSpaceAt(growingFolder)
    const writtenNow = pids ? await writtenBytes(pids) : null
    this.#pauseMs = this.#nextPauseMs(writtenNow === null ? maxPauseMs.unknown : maxPauseMs.known)
    this.#hasDropped = false
    this.#measuredAt = Date.now()
    this.#writtenBytes = writtenNow ?? 0
    const startedAt = performance.now()
    const [growing, ...others] = await measureFolders(
      [growingFolder, ...countedFolders],
      (this.#initialBytes ?? Number.POSITIVE_INFINITY) + limit,
    )
    this.#nextMeasureAt = pauseEnd(startedAt, maxMeasuringShare)
    this.#initialBytes ??= growing!.diskBytes
    const totalBytes = [growing!, ...others].reduce((sum, { diskBytes }) => sum + diskBytes, 0)
    return totalBytes + (await deletedFileBytes(pids ?? [], (await stat(growingFolder)).dev)) - this.#initialBytes > limit
  }

  get #thresholdBytes(): number {
    return Math.min(checkAfterDropBytes, (this.#limit.limitMb * megabyte) / 4)
  }

  #hasDroppedTo({ bytes, inodes }: FreeSpace): boolean {
    return (
      this.#highestFreeSpace.bytes - bytes > this.#thresholdBytes ||
      (this.#highestFreeSpace.inodes - inodes) * bytesPerEntry > this.#thresholdBytes
    )
  }

  #nextPauseMs(maxMs: number): number {
    const wasPeriodic = this.#measuredAt > 0 && !this.#hasDropped
    return wasPeriodic ? Math.min(maxMs, this.#pauseMs * 2) : firstPauseMs
  }
}

/** Disk usage of deleted files on that device that the processes hold open, each counted once. */
async function deletedFileBytes(pids: readonly number[], device: number): Promise<number> {
  const files = new Map<number, number>()
  for (const pid of pids)
    for (const fd of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
      const found = await stat(`/proc/${pid}/fd/${fd}`).catch(() => null)
      if (found?.isFile() && found.nlink === 0 && found.dev === device) files.set(found.ino, found.blocks * 512 + bytesPerEntry)
    }
  return [...files.values()].reduce((sum, bytes) => sum + bytes, 0)
}
