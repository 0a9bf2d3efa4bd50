import { closeSync, fstatSync, ftruncateSync, openSync, readSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import type { OutputLine } from '../runtime.ts'
import { lineSplitter } from './build.ts'
import type { InstanceRecord, InstanceRecords } from './instance-record.ts'

type Stream = 'stdout' | 'stderr'
const streams = ['stdout', 'stderr'] as const
const chunkBytes = 64 * 1024
const lookMs = 100
const longestReadMs = 3_000
/** What was read and is longer than this is cut off, so that a chatty program does not fill the disk. */
const cutAboveBytes = 4 * 1024 * 1024

/** Lines of an instance's output files from a position on, as they are written. */
export async function* readOutput(
  id: string,
  after: string | null,
  parts: { records: InstanceRecords; recordOf(): InstanceRecord | undefined; hasEnded(): boolean },
  abort: AbortSignal,
): AsyncGenerator<OutputLine & { position: string }> {
  const offsets = parsePosition(after)
  const pending: Record<Stream, string[]> = { stdout: [], stderr: [] }
  const splitters = {
    stdout: lineSplitter((line) => pending.stdout.push(line)),
    stderr: lineSplitter((line) => pending.stderr.push(line)),
  }
  while (!abort.aborted) {
    const ended = parts.hasEnded()
    let found = false
    for (const stream of streams) {
      const chunk = readNext(id, stream, offsets, parts)
      if (chunk) {
        found = true
        splitters[stream].take(chunk)
      } else if (ended) splitters[stream].end()
      yield* handOut(stream, pending, offsets)
    }
    if (found) continue
    if (ended) return
    await pause(lookMs, undefined, { signal: abort }).catch(() => undefined)
  }
}

/** Who reads which output now: the files of an instance go only when they have been read to the end. */
export class Readers {
  readonly #open = new Map<string, Set<Promise<void>>>()

  async *count<Line>(id: string, lines: AsyncIterable<Line>): AsyncGenerator<Line> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const mine = this.#open.get(id) ?? new Set()
    this.#open.set(id, mine.add(promise))
    try {
      yield* lines
    } finally {
      mine.delete(promise)
      if (mine.size === 0 && this.#open.get(id) === mine) this.#open.delete(id)
      resolve()
    }
  }

  /** Bounded: a reader that hangs keeps nothing alive. */
  async done(id: string): Promise<void> {
    await Promise.race([Promise.all(this.#open.get(id) ?? []), pause(longestReadMs, undefined, { ref: false })])
  }
}

function* handOut(stream: Stream, pending: Record<Stream, string[]>, offsets: Record<Stream, number>) {
  const position = `${offsets.stdout}.${offsets.stderr}`
  const time = new Date().toISOString()
  for (const message of pending[stream].splice(0)) yield { time, stream, message, position }
}

function parsePosition(after: string | null): Record<Stream, number> {
  const [stdout = 0, stderr = 0] = (after ?? '').split('.').map(Number)
  return { stdout: stdout || 0, stderr: stderr || 0 }
}

function readNext(
  id: string,
  stream: Stream,
  offsets: Record<Stream, number>,
  { records, recordOf }: { records: InstanceRecords; recordOf(): InstanceRecord | undefined },
): Uint8Array | null {
  const record = recordOf()
  if (!record) return null
  let file: number
  try {
    file = openSync(records.outputFile(id, stream), 'r+')
  } catch {
    return null
  }
  try {
    const cutOff = record.cutOff[stream]
    const from = Math.max(0, offsets[stream] - cutOff)
    const { size } = fstatSync(file)
    if (from >= size) {
      if (size > cutAboveBytes && from === size) cut(file, size, stream, record, records)
      return null
    }
    const chunk = new Uint8Array(Math.min(chunkBytes, size - from))
    const length = readSync(file, chunk, 0, chunk.length, from)
    offsets[stream] = cutOff + from + length
    return chunk.subarray(0, length)
  } finally {
    closeSync(file)
  }
}

/** The program appends, so that its next line begins at the new front. */
function cut(file: number, size: number, stream: Stream, record: InstanceRecord, records: InstanceRecords): void {
  ftruncateSync(file, 0)
  record.cutOff[stream] += size
  records.save(record)
}
