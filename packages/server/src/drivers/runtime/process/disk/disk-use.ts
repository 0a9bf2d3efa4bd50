import { readdir, stat } from 'node:fs/promises'
import { restsUntil } from '../../../../platform/rests-until.ts'
import { bytesOfAName } from '../../../folder/folder-size.ts'
import { measureFolders } from '../../../folder/measure-folder.ts'
import { type Room, roomAt } from './disk-room.ts'
import { writtenBytes } from './written-bytes.ts'

const megabyte = 1024 * 1024
/** The disk has filled up by so much since the last look: it is time to ask who did it. */
const worthALookBytes = 64 * megabyte
/** Between two looks that nothing gives cause for; twice as long after each that found nothing. */
const firstPauseMs = 60_000
/** Where nobody can tell what a program writes, looks find out. */
const longestPauseMs = { known: 24 * 60 * 60_000, unknown: 30 * 60_000 }
/** To look again takes at most this part of the time. */
const shareOfTime = 1 / 5

export interface DiskLimit {
  /** What was there before counts for nothing; what it grows by does. */
  grows: string
  /** How much that was; left out: what is there at the first look. */
  before?: number | undefined
  /** What counts as a whole. */
  written: readonly string[]
  limitMb: number
}

/** `writes`: it has written much since the last look. `maybe`: somebody has, or nobody can tell. `none`: there is no need to look. */
export type Suspicion = 'writes' | 'maybe' | 'none'

/**
 * Says whether a program keeps more on the disk than it may. To look is dear, and so it is done when the disk as a whole has
 * filled up noticeably, and now and then where it has written something: a minute after the start, later more seldom.
 */
export class DiskLook {
  readonly #limit: DiskLimit
  #before: number | null = null
  /** The most that there was since it was last asked who takes it. */
  #room: Room = { bytes: 0, names: 0 }
  #lookedAt = 0
  #restsUntil = 0
  #pauseMs = firstPauseMs
  /** By the program, at the last look. */
  #writtenBytes = 0
  /** The disk has filled up since the last look, by whomever. */
  #hasFilled = false

  constructor(limit: DiskLimit) {
    this.#limit = limit
    this.#before = limit.before ?? null
  }

  /** When it was last found to keep no more than it may, by the clock of the machine; 0: never. */
  get lookedAt(): number {
    return this.#lookedAt
  }

  /** A program was started: whatever was at the last look, it is time for the next one. */
  lookAgain(): void {
    this.#lookedAt = 0
    this.#writtenBytes = 0
    this.#pauseMs = firstPauseMs
  }

  /** With so much room left on the disk: is there cause to look? Room that others have made hides nothing for long. */
  isDue(room: Room): boolean {
    this.#room = { bytes: Math.max(this.#room.bytes, room.bytes), names: Math.max(this.#room.names, room.names) }
    this.#hasFilled ||= this.#isFilledBy(room)
    if (performance.now() < this.#restsUntil) return false
    return this.#hasFilled || Date.now() - this.#lookedAt > this.#pauseMs
  }

  /** For one that is due: whether it may be this program that has taken the room. To ask that is cheap. */
  async suspect(room: Room, pids: readonly number[] | undefined): Promise<Suspicion> {
    const isFilled = this.#isFilledBy(room)
    if (isFilled) this.#room = room
    else if (this.#hasFilled || this.#lookedAt === 0) return 'maybe'
    const written = pids ? await writtenBytes(pids) : null
    const hasWritten = written === null || written < this.#writtenBytes || written - this.#writtenBytes > this.#noticedBytes
    if (isFilled) return hasWritten ? 'writes' : 'maybe'
    if (hasWritten || this.#pauseMs >= longestPauseMs.known) return 'maybe'
    this.#pauseMs = Math.min(longestPauseMs.known, this.#pauseMs * 2)
    this.#lookedAt = Date.now()
    return 'none'
  }

  /** Looks, whether there is cause or not. `pids`: of the program, for files that it holds open and that have no name any more. */
  async isOver(pids: readonly number[] | undefined): Promise<boolean> {
    const { grows, written, limitMb } = this.#limit
    const limit = limitMb * megabyte
    this.#room = await roomAt(grows)
    const byNow = pids ? await writtenBytes(pids) : null
    this.#pauseMs = this.#nextPauseMs(byNow === null ? longestPauseMs.unknown : longestPauseMs.known)
    this.#hasFilled = false
    this.#lookedAt = Date.now()
    this.#writtenBytes = byNow ?? 0
    const began = performance.now()
    const [own, ...others] = await measureFolders([grows, ...written], (this.#before ?? Number.POSITIVE_INFINITY) + limit)
    this.#restsUntil = restsUntil(began, shareOfTime)
    this.#before ??= own!.diskBytes
    const kept = [own!, ...others].reduce((sum, { diskBytes }) => sum + diskBytes, 0)
    return kept + (await namelessBytes(pids ?? [], (await stat(grows)).dev)) - this.#before > limit
  }

  get #noticedBytes(): number {
    return Math.min(worthALookBytes, (this.#limit.limitMb * megabyte) / 4)
  }

  #isFilledBy({ bytes, names }: Room): boolean {
    return this.#room.bytes - bytes > this.#noticedBytes || (this.#room.names - names) * bytesOfAName > this.#noticedBytes
  }

  #nextPauseMs(longestMs: number): number {
    const isForNoCause = this.#lookedAt > 0 && !this.#hasFilled
    return isForNoCause ? Math.min(longestMs, this.#pauseMs * 2) : firstPauseMs
  }
}

/** Of files on that disk that processes hold open and that have no name any more, each counted once. */
async function namelessBytes(pids: readonly number[], device: number): Promise<number> {
  const files = new Map<number, number>()
  for (const pid of pids)
    for (const fd of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
      const found = await stat(`/proc/${pid}/fd/${fd}`).catch(() => null)
      if (found?.isFile() && found.nlink === 0 && found.dev === device) files.set(found.ino, found.blocks * 512 + bytesOfAName)
    }
  return [...files.values()].reduce((sum, bytes) => sum + bytes, 0)
}
