import { rm } from 'node:fs/promises'
import type { AnyEntry } from './log-entry.ts'
import type { Chunk } from './pending-lines.ts'
import type { Segment } from './segment.ts'
import { listSegments, packSegment, plainPath } from './segment-files.ts'
import { type Cursor, type ReadRange, SegmentReader } from './segment-reader.ts'
import { SegmentWriter } from './segment-writer.ts'

export interface SegmentSettings {
  folder: string
  maxBytes: number
  segmentBytes: number
  /** Packs one segment at a time over the whole store. */
  withLock: (work: () => Promise<void>) => Promise<void>
  onError: (error: unknown, message: string) => void
}

/** Closed segments that may wait to be packed before writing waits for them. */
const maxUnpacked = 3

/** The files of one stream, oldest first. The newest grows, full ones are packed, and the oldest are deleted above the size limit. */
export class SegmentList {
  readonly #settings: SegmentSettings
  readonly #segments: Segment[]
  readonly #reader: SegmentReader
  readonly #writer = new SegmentWriter()
  readonly #packing = new Map<Segment, Promise<void>>()

  static async open(settings: SegmentSettings): Promise<SegmentList> {
    const list = new SegmentList(settings, await listSegments(settings.folder))
    for (const segment of list.#segments) if (!list.#canGrow(segment)) list.#pack(segment)
    return list
  }

  private constructor(settings: SegmentSettings, segments: Segment[]) {
    this.#settings = settings
    this.#segments = segments
    this.#reader = new SegmentReader((error, path) =>
      settings.onError(error, `${path} is damaged; reading the remaining entries`),
    )
  }

  get lastId(): number {
    return this.#segments.at(-1)?.lastId ?? 0
  }

  get isPacking(): boolean {
    return this.#packing.size > 0
  }

  /** Free bytes in the newest segment. */
  get freeBytes(): number {
    const newest = this.#segments.at(-1)
    return this.#settings.segmentBytes - (newest && this.#canGrow(newest) ? newest.bytes : 0)
  }

  /** Either all the lines are in the file afterwards, or none can be read. */
  async write(chunks: readonly Chunk[]): Promise<void> {
    const segment = this.#growingSegment(chunks[0]!.firstId)
    await this.#writer.write(segment, chunks)
    if (!this.#canGrow(segment)) this.#pack(segment)
    await this.#removeOldest()
    if (this.#packing.size > maxUnpacked) await Promise.race(this.#packing.values())
  }

  /** Oldest first. */
  async *forward(range: ReadRange, cursor?: Cursor): AsyncGenerator<AnyEntry> {
    for (const segment of [...this.#segments]) {
      for await (const entries of this.#reader.forward(segment, range, cursor)) yield* entries
    }
  }

  /** Newest first. */
  async *backward(range: ReadRange): AsyncGenerator<AnyEntry> {
    for (const segment of [...this.#segments].reverse()) {
      for await (const entries of this.#reader.backward(segment, range)) yield* entries
    }
  }

  async sync(): Promise<void> {
    await this.#writer.sync()
  }

  async close(): Promise<void> {
    await Promise.all(this.#packing.values())
    await this.#writer.close()
  }

  #growingSegment(firstId: number): Segment {
    const newest = this.#segments.at(-1)
    if (newest && this.#canGrow(newest)) return newest
    const path = plainPath(this.#settings.folder, firstId)
    const segment: Segment = { firstId, lastId: this.lastId, form: 'plain', path, bytes: 0, times: null }
    this.#segments.push(segment)
    return segment
  }

  #canGrow(segment: Segment): boolean {
    return segment === this.#segments.at(-1) && segment.form === 'plain' && segment.bytes < this.#settings.segmentBytes
  }

  #pack(segment: Segment): void {
    if (segment.form === 'packed' || this.#packing.has(segment)) return
    const { folder, withLock, onError } = this.#settings
    const done = withLock(async () => {
      const index = await packSegment(segment, folder)
      if (index) this.#reader.cacheIndex(segment, index)
      else this.#segments.splice(this.#segments.indexOf(segment), 1)
    })
      .catch((error) => onError(error, `${segment.path} could not be compressed, keeping it uncompressed`))
      .finally(() => this.#packing.delete(segment))
      .then(() => this.#removeOldest())
    this.#packing.set(segment, done)
  }

  /** Space for a full newest segment is reserved, so that the limit holds while it grows. */
  async #removeOldest(): Promise<void> {
    const { maxBytes, segmentBytes } = this.#settings
    const isOverLimit = () => this.#segments.reduce((sum, { bytes }) => sum + bytes, segmentBytes) > maxBytes
    while (this.#segments.length > 1 && !this.#packing.has(this.#segments[0]!) && isOverLimit()) {
      const [oldest] = this.#segments.splice(0, 1)
      await rm(oldest!.path, { force: true }).catch((error) => this.#settings.onError(error, `${oldest!.path} cannot be removed`))
    }
  }
}
