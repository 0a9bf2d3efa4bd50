import { rm } from 'node:fs/promises'
import type { AnyEntry } from './log-entry.ts'
import type { Chunk } from './pending-lines.ts'
import type { Segment } from './segment.ts'
import { listSegments, packSegment, plainPath } from './segment-files.ts'
import { type Cursor, SegmentReader, type Wanted } from './segment-reader.ts'
import { SegmentWriter } from './segment-writer.ts'

export interface SegmentSettings {
  folder: string
  maxBytes: number
  segmentBytes: number
  /** Packs one segment at a time over the whole store. */
  withLock: (work: () => Promise<void>) => Promise<void>
  onError: (error: unknown, what: string) => void
}

/** Closed segments that may wait to be packed before writing waits for them. */
const maxUnpacked = 3

/** The files of one stream, oldest first: the newest one grows, full ones are packed, the oldest go when all of them take too much. */
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

  /** How many bytes the newest segment takes before it is full. */
  get room(): number {
    const newest = this.#segments.at(-1)
    return this.#settings.segmentBytes - (newest && this.#canGrow(newest) ? newest.bytes : 0)
  }

  /** Either all the lines are in the file afterwards, or none can be read. */
  async write(chunks: readonly Chunk[]): Promise<void> {
    const segment = this.#growing(chunks[0]!.firstId)
    await this.#writer.write(segment, chunks)
    if (!this.#canGrow(segment)) this.#pack(segment)
    await this.#removeOldest()
    if (this.#packing.size > maxUnpacked) await Promise.race(this.#packing.values())
  }

  /** Oldest first. */
  async *forward(wanted: Wanted, cursor?: Cursor): AsyncGenerator<AnyEntry> {
    for (const segment of [...this.#segments]) {
      for await (const entries of this.#reader.forward(segment, wanted, cursor)) yield* entries
    }
  }

  /** Newest first. */
  async *backward(wanted: Wanted): AsyncGenerator<AnyEntry> {
    for (const segment of [...this.#segments].reverse()) {
      for await (const entries of this.#reader.backward(segment, wanted)) yield* entries
    }
  }

  async sync(): Promise<void> {
    await this.#writer.sync()
  }

  async close(): Promise<void> {
    await Promise.all(this.#packing.values())
    await this.#writer.close()
  }

  #growing(firstId: number): Segment {
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
    const { folder, withLock: inTurn, onError } = this.#settings
    const done = inTurn(async () => {
      const index = await packSegment(segment, folder)
      if (index) this.#reader.remember(segment, index)
      else this.#segments.splice(this.#segments.indexOf(segment), 1)
    })
      .catch((error) => onError(error, `${segment.path} could not be compressed, keeping it uncompressed`))
      .finally(() => this.#packing.delete(segment))
      .then(() => this.#removeOldest())
    this.#packing.set(segment, done)
  }

  /** Room for a full newest segment is kept free, so that the bound holds while it grows. */
  async #removeOldest(): Promise<void> {
    const { maxBytes, segmentBytes } = this.#settings
    const isTooMuch = () => this.#segments.reduce((sum, { bytes }) => sum + bytes, segmentBytes) > maxBytes
    while (this.#segments.length > 1 && !this.#packing.has(this.#segments[0]!) && isTooMuch()) {
      const [oldest] = this.#segments.splice(0, 1)
      await rm(oldest!.path, { force: true }).catch((error) => this.#settings.onError(error, `${oldest!.path} cannot be removed`))
    }
  }
}
