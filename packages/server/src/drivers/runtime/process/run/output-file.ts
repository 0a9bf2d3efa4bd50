import { closeSync, fstatSync, ftruncateSync, openSync, readSync } from 'node:fs'
import type { InstanceRecord, InstanceRecords } from '../processes/instance-record.ts'

const chunkBytes = 64 * 1024
/** Length above which output that was read is cut off, so that a program does not fill the disk with it. */
const truncateAboveBytes = 4 * 1024 * 1024
/** Limit of unread output. Output beyond it is dropped, or a program that writes faster would fill the disk. */
const maxBacklogBytes = 16 * 1024 * 1024

/** Output file of an instance. It is kept open from one read to the next until `release`. */
export class OutputFile implements Disposable {
  readonly #stream: 'stdout' | 'stderr'
  readonly #records: InstanceRecords
  #file: number | null = null
  /** The start that the open file belongs to: a later one has other files. */
  #openedFor: InstanceRecord | null = null
  /** Bytes read, including those cut off the front of the file. */
  offset: number
  /** The last read did not reach the end of the file. */
  hasMore = false

  constructor(stream: 'stdout' | 'stderr', offset: number, records: InstanceRecords) {
    this.#stream = stream
    this.offset = offset
    this.#records = records
  }

  /** Bytes, or a message in place of dropped output. Null if there is nothing new. */
  readNext(record: InstanceRecord | undefined): Buffer | string | null {
    this.hasMore = false
    const file = record && this.#open(record)
    if (file === undefined || file === null) return null
    const { size } = fstatSync(file)
    const truncatedBytes = record!.cutOff[this.#stream]
    const read = this.offset - truncatedBytes
    // The program can truncate its own output. All of it is new then.
    const from = read > size ? 0 : Math.max(0, read)
    if (from === size) {
      if (size > truncateAboveBytes) this.#truncate(file, size, record!)
      return null
    }
    if (size - from > maxBacklogBytes) return this.#drop(file, size, from, record!)
    const chunk = Buffer.allocUnsafe(Math.min(chunkBytes, size - from))
    const length = readSync(file, chunk, 0, chunk.length, from)
    this.offset = truncatedBytes + from + length
    this.hasMore = from + length < size
    return chunk.subarray(0, length)
  }

  /** Closes the file until the next read. */
  release(): void {
    if (this.#file !== null) closeSync(this.#file)
    this.#file = null
  }

  [Symbol.dispose](): void {
    this.release()
  }

  #open(record: InstanceRecord): number | null {
    if (this.#openedFor !== record) this.release()
    this.#openedFor = record
    try {
      this.#file ??= openSync(this.#records.outputFile(record.instanceId, this.#stream), 'r+')
    } catch {
      return null
    }
    return this.#file
  }

  #drop(file: number, size: number, from: number, record: InstanceRecord): string {
    this.#truncate(file, size, record)
    this.offset = record.cutOff[this.#stream]
    this.hasMore = true
    return `[${Math.ceil((size - from) / 1024 / 1024)} MB of output dropped: the program writes faster than Berth reads]`
  }

  /** Truncates an output file. The program appends, so its next line is at the beginning. */
  #truncate(file: number, size: number, record: InstanceRecord): void {
    ftruncateSync(file, 0)
    record.cutOff[this.#stream] += size
    this.#records.saveEventually(record)
  }
}
