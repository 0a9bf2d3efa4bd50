import { constants } from 'node:fs'
import { type FileHandle, mkdir, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Segment } from './segment.ts'

/** Adds lines to the newest segment and keeps its file open. */
export class SegmentWriter {
  #segment: Segment | null = null
  #file: FileHandle | null = null

  /** Writes at the end that readers know of, so that what a failed attempt left behind it is written over. */
  async write(segment: Segment, text: string, lastId: number): Promise<void> {
    const bytes = Buffer.from(text)
    try {
      const file = await this.#open(segment)
      for (let done = 0; done < bytes.length; ) {
        const { bytesWritten } = await file.write(bytes, done, bytes.length - done, segment.bytes + done)
        done += bytesWritten
      }
    } catch (error) {
      await this.close().catch(() => undefined)
      throw error
    }
    segment.bytes += bytes.length
    segment.lastId = lastId
  }

  /** What was written survives the machine's going down as well. */
  async sync(): Promise<void> {
    await this.#file?.datasync()
  }

  async close(): Promise<void> {
    const file = this.#file
    this.#file = null
    this.#segment = null
    await file?.close()
  }

  async #open(segment: Segment): Promise<FileHandle> {
    if (this.#file && this.#segment === segment) return this.#file
    await this.close()
    await mkdir(dirname(segment.path), { recursive: true, mode: 0o700 })
    this.#file = await open(segment.path, constants.O_WRONLY | constants.O_CREAT, 0o600)
    this.#segment = segment
    return this.#file
  }
}
