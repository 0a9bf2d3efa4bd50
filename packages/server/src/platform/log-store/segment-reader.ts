import { type AnyEntry, formatLogId, idOfLine, parseLine } from './log-entry.ts'
import type { CompiledFilter } from './log-filter.ts'
import { type PackedIndex, readBlock, readIndex } from './packed-segment.ts'
import { plainBlocks, plainBlocksBackward } from './plain-segment.ts'
import { type Block, openSegment, type Segment } from './segment.ts'

/** Range and filter of a read; ids are exclusive. */
export interface Wanted {
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

  remember(segment: Segment, index: PackedIndex): void {
    this.#indexes.set(segment, index)
  }

  /** Entries oldest first, block by block. The cursor, if given, is where the last read of the same reader stopped. */
  async *forward(segment: Segment, wanted: Wanted, cursor?: Cursor): AsyncGenerator<Iterable<AnyEntry>> {
    if (!mayHold(segment, wanted)) return
    const offset = cursor?.segment === segment && segment.form === 'plain' ? cursor.offset : 0
    let read = offset
    for await (const { text, plainBytes } of this.#blocks(segment, wanted, { offset, backward: false })) {
      if (wanted.abort?.aborted) return
      if (wanted.filter.mayBeIn(text)) yield entriesOf(text.split('\n'), wanted)
      read += plainBytes
      if (cursor && segment.form === 'plain') Object.assign(cursor, { segment, offset: read })
    }
  }

  /** Entries newest first, block by block. */
  async *backward(segment: Segment, wanted: Wanted): AsyncGenerator<Iterable<AnyEntry>> {
    if (!mayHold(segment, wanted)) return
    for await (const { text } of this.#blocks(segment, wanted, { offset: 0, backward: true })) {
      if (wanted.abort?.aborted) return
      if (wanted.filter.mayBeIn(text)) yield entriesOf(text.split('\n').reverse(), wanted)
    }
  }

  async *#blocks(
    segment: Segment,
    wanted: Wanted,
    { offset, backward }: { offset: number; backward: boolean },
  ): AsyncGenerator<Block> {
    const opened = await openSegment(segment)
    if (!opened) return
    const { file, form, bytes } = opened
    try {
      if (form === 'packed') yield* this.#packedBlocks({ segment, file, wanted, backward })
      else yield* backward ? plainBlocksBackward(file, bytes) : plainBlocks(file, offset, bytes)
    } catch (error) {
      this.#onDamage(error, segment.path)
    } finally {
      await file.close()
    }
  }

  async *#packedBlocks({ segment, file, wanted, backward }: PackedRead): AsyncGenerator<Block> {
    const index = this.#indexes.get(segment) ?? (await readIndex(file))
    this.#indexes.set(segment, index)
    const { deployment } = wanted.filter
    if (deployment && index.deployments && !index.deployments.includes(deployment)) return
    const blocks = index.blocks.filter(
      ({ firstId, lastId, latest }) => lastId > wanted.afterId && firstId < wanted.beforeId && latest >= wanted.since,
    )
    for (const block of backward ? blocks.reverse() : blocks) {
      try {
        yield await readBlock(file, block)
      } catch (error) {
        this.#onDamage(error, segment.path)
      }
    }
  }
}

interface PackedRead {
  segment: Segment
  file: Parameters<typeof readBlock>[0]
  wanted: Wanted
  backward: boolean
}

function mayHold({ firstId, lastId, times }: Segment, { afterId, beforeId, since }: Wanted): boolean {
  return lastId > afterId && firstId < beforeId && (times === null || times.latest >= since)
}

/** Parses lazily: a short tail parses few lines of its block. */
function* entriesOf(lines: readonly string[], { afterId, beforeId, since, filter }: Wanted): Generator<AnyEntry> {
  const after = formatLogId(afterId)
  const before = formatLogId(beforeId)
  for (const line of lines) {
    const id = idOfLine(line)
    if (id <= after || id >= before || !filter.mayBeIn(line)) continue
    const entry = parseLine(line)
    if (entry && Date.parse(entry.time) >= since && filter.matches(entry)) yield entry
  }
}
