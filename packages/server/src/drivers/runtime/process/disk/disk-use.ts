import { readdir, stat } from 'node:fs/promises'
import { pauseEnd } from '../../../../platform/pause-end.ts'
import { bytesOfAName } from '../../../folder/folder-size.ts'
import { measureFolders } from '../../../folder/measure-folder.ts'
import { type Room, roomAt } from './disk-room.ts'
import { writtenBytes } from './written-bytes.ts'

const megabyte = 1024 * 1024
/** Drop of free space since the last measurement that triggers a check for the cause. */
const recheckBytes = 64 * megabyte
/** Pause between two periodic measurements. It doubles after each one that finds nothing. */
const firstPauseMs = 60_000
/** Longest pause. Shorter where the kernel does not report the bytes that a program writes. */
const maxPauseMs = { known: 24 * 60 * 60_000, unknown: 30 * 60_000 }
/** Highest share of the time spent on measuring. */
const shareOfTime = 1 / 5

export interface DiskLimit {
  /** Folder of which only the growth counts. */
  grows: string
  /** Size of `grows` at the beginning. Absent: at the first measurement. */
  before?: number | undefined
  /** Folders that count as a whole. */
  written: readonly string[]
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
  #before: number | null = null
  /** Highest free space since the cause of a drop was last checked. */
  #room: Room = { bytes: 0, names: 0 }
  #lookedAt = 0
  #pauseEnd = 0
  #pauseMs = firstPauseMs
  /** Bytes that the program had written at the last measurement. */
  #writtenBytes = 0
  /** Free space has dropped since the last measurement, whichever program caused it. */
  #hasFilled = false

  constructor(limit: DiskLimit) {
    this.#limit = limit
    this.#before = limit.before ?? null
  }

  /** Wall clock time of the last measurement. 0: never. */
  get lookedAt(): number {
    return this.#lookedAt
  }

  /** Makes the next measurement due. Called when a program was started. */
  checkAgain(): void {
    this.#lookedAt = 0
    this.#writtenBytes = 0
    this.#pauseMs = firstPauseMs
  }

  /** Whether to measure, given the free space. Compares with the highest free space, so that space freed by others hides little. */
  isDue(room: Room): boolean {
    this.#room = { bytes: Math.max(this.#room.bytes, room.bytes), names: Math.max(this.#room.names, room.names) }
    this.#hasFilled ||= this.#isFilledBy(room)
    if (performance.now() < this.#pauseEnd) return false
    return this.#hasFilled || Date.now() - this.#lookedAt > this.#pauseMs
  }

  /** Cheap check, once a measurement is due, whether this program may have filled the disk. */
  async suspect(room: Room, pids: readonly number[] | undefined): Promise<Suspicion> {
    const isFilled = this.#isFilledBy(room)
    if (isFilled) this.#room = room
    else if (this.#hasFilled || this.#lookedAt === 0) return 'maybe'
    const written = pids ? await writtenBytes(pids) : null
    const hasWritten = written === null || written < this.#writtenBytes || written - this.#writtenBytes > this.#noticedBytes
    if (isFilled) return hasWritten ? 'writes' : 'maybe'
    if (hasWritten || this.#pauseMs >= maxPauseMs.known) return 'maybe'
    this.#pauseMs = Math.min(maxPauseMs.known, this.#pauseMs * 2)
    this.#lookedAt = Date.now()
    return 'none'
  }

  /** Measures now. `pids` are the program's processes, whose open deleted files count as well. */
  async isOver(pids: readonly number[] | undefined): Promise<boolean> {
    const { grows, written, limitMb } = this.#limit
    const limit = limitMb * megabyte
    this.#room = await roomAt(grows)
    const byNow = pids ? await writtenBytes(pids) : null
    this.#pauseMs = this.#nextPauseMs(byNow === null ? maxPauseMs.unknown : maxPauseMs.known)
    this.#hasFilled = false
    this.#lookedAt = Date.now()
    this.#writtenBytes = byNow ?? 0
    const began = performance.now()
    const [own, ...others] = await measureFolders([grows, ...written], (this.#before ?? Number.POSITIVE_INFINITY) + limit)
    this.#pauseEnd = pauseEnd(began, shareOfTime)
    this.#before ??= own!.diskBytes
    const kept = [own!, ...others].reduce((sum, { diskBytes }) => sum + diskBytes, 0)
    return kept + (await namelessBytes(pids ?? [], (await stat(grows)).dev)) - this.#before > limit
  }

  get #noticedBytes(): number {
    return Math.min(recheckBytes, (this.#limit.limitMb * megabyte) / 4)
  }

  #isFilledBy({ bytes, names }: Room): boolean {
    return this.#room.bytes - bytes > this.#noticedBytes || (this.#room.names - names) * bytesOfAName > this.#noticedBytes
  }

  #nextPauseMs(maxMs: number): number {
    const isForNoCause = this.#lookedAt > 0 && !this.#hasFilled
    return isForNoCause ? Math.min(maxMs, this.#pauseMs * 2) : firstPauseMs
  }
}

/** Disk usage of deleted files on that device that the processes hold open, each counted once. */
async function namelessBytes(pids: readonly number[], device: number): Promise<number> {
  const files = new Map<number, number>()
  for (const pid of pids)
    for (const fd of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
      const found = await stat(`/proc/${pid}/fd/${fd}`).catch(() => null)
      if (found?.isFile() && found.nlink === 0 && found.dev === device) files.set(found.ino, found.blocks * 512 + bytesOfAName)
    }
  return [...files.values()].reduce((sum, bytes) => sum + bytes, 0)
}
