import type { FileHandle } from 'node:fs/promises'
import { type AnyEntry, formatLogId, idOfLine, parseLine } from './log-entry.ts'
import type { CompiledFilter } from './log-filter.ts'
import { type PackedIndex, readBlocks, readIndex } from './packed-segment.ts'
import { plainBlocks, plainBlocksBackward } from './plain-segment.ts'
import { type Block, openSegment, type Segment } from './segment.ts'

/** Range and filter of a read; ids are exclusive. */
export interface ReadRange {
  afterId: number
  beforeId: number
  /** Milliseconds since 1970. */
  since: number
  filter: CompiledFilter
  /** Stops the read between two blocks. */
  abort?: AbortSignal
}

/** How far a recurring reader has read a plain segment. */
export interface Cursor {
  segment: Segment | null
  offset: number
}

/** Reads entries from segments, oldest or newest first, and caches the indexes of packed segments. */
export class SegmentReader {
  readonly #indexes = new WeakMap<Segment, PackedIndex>()
  readonly #onDamage: (error: unknown, path: string) => void

  constructor(onDamage: (error: unknown, path: string) => void) {
    this.#onDamage = onDamage
  }

  cacheIndex(segment: Segment, index: PackedIndex): void {
    this.#indexes.set(segment, index)
  }

  /** Entries oldest first, block by block. The cursor, if given, is where the last read of the same reader stopped. */
  async *forward(segment: Segment, range: ReadRange, cursor?: Cursor): AsyncGenerator<Iterable<AnyEntry>> {
    if (!mayContain(segment, range)) return
    const offset = cursor?.segment === segment && segment.form === 'plain' ? cursor.offset : 0
    let read = offset
    for await (const block of this.#blocks(segment, range, { offset, isBackward: false })) {
      if (range.abort?.aborted) return
      const lines = range.filter.linesIn(block)
      if (lines.length > 0) yield entriesOf(lines, range)
      read += block.length
      if (cursor && segment.form === 'plain') Object.assign(cursor, { segment, offset: read })
    }
  }

  /** Entries newest first, block by block. */
  async *backward(segment: Segment, range: ReadRange): AsyncGenerator<Iterable<AnyEntry>> {
    if (!mayContain(segment, range)) return
    for await (const block of this.#blocks(segment, range, { offset: 0, isBackward: true })) {
      if (range.abort?.aborted) return
      const lines = range.filter.linesIn(block)
      if (lines.length > 0) yield entriesOf(lines.reverse(), range)
    }
  }

  async *#blocks(
    segment: Segment,
    range: ReadRange,
    { offset, isBackward }: { offset: number; isBackward: boolean },
  ): AsyncGenerator<Block> {
    const opened = await openSegment(segment)
    if (!opened) return
    const { file, form, bytes } = opened
    try {
      if (form === 'packed') yield* this.#packedBlocks({ segment, file, range, isBackward })
      else yield* isBackward ? plainBlocksBackward(file, bytes) : plainBlocks(file, offset, bytes)
    } catch (error) {
      this.#onDamage(error, segment.path)
    } finally {
      await file.close()
    }
  }

  async *#packedBlocks({ segment, file, range, isBackward }: PackedRead): AsyncGenerator<Block> {
    const index = this.#indexes.get(segment) ?? (await readIndex(file))
    this.#indexes.set(segment, index)
    const { deployment } = range.filter
    if (deployment && index.deployments && !index.deployments.includes(deployment)) return
    const blocks = index.blocks.filter(
      ({ firstId, lastId, latest }) => lastId > range.afterId && firstId < range.beforeId && latest >= range.since,
    )
    for await (const block of readBlocks(file, isBackward ? blocks.reverse() : blocks)) {
      if (block instanceof Error) this.#onDamage(block, segment.path)
      else yield block
    }
  }
}

interface PackedRead {
  segment: Segment
  file: FileHandle
  range: ReadRange
  isBackward: boolean
}

function mayContain({ firstId, lastId, times }: Segment, { afterId, beforeId, since }: ReadRange): boolean {
  return lastId > afterId && firstId < beforeId && (times === null || times.latest >= since)
}

/** Parses lazily: a short tail parses few lines of its block. */
function* entriesOf(lines: readonly string[], { afterId, beforeId, since, filter }: ReadRange): Generator<AnyEntry> {
  const after = formatLogId(afterId)
  const before = formatLogId(beforeId)
  for (const line of lines) {
    const id = idOfLine(line)
    if (id <= after || id >= before) continue
    const entry = parseLine(line)
    if (entry && Date.parse(entry.time) >= since && filter.matches(entry)) yield entry
  }
}
