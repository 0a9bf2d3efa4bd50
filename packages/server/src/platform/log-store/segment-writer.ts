import { constants } from 'node:fs'
import { type FileHandle, mkdir, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Chunk } from './pending-lines.ts'
import type { Segment } from './segment.ts'

/** Adds lines to the newest segment and keeps its file open. */
export class SegmentWriter {
  #segment: Segment | null = null
  #file: FileHandle | null = null
  #syncedFolderFor: Segment | null = null

  /** Writes at the end of the segment that readers know, so that leftovers of a failed write are overwritten. */
  async write(segment: Segment, chunks: readonly Chunk[]): Promise<void> {
    let end = segment.bytes
    try {
      const file = await this.#open(segment)
      for (let parts = chunks.map(({ buffer, bytes }) => buffer.subarray(0, bytes)); parts.length > 0; ) {
        const { bytesWritten } = await file.writev(parts, end)
        end += bytesWritten
        parts = withoutWritten(parts, bytesWritten)
      }
    } catch (error) {
      await this.close().catch(() => undefined)
      throw error
    }
    segment.bytes = end
    segment.lastId = chunks.at(-1)!.lastId
  }

  /** Syncs the written data to disk, and the folder too for a new file, so that its name survives a crash of the machine. */
  async sync(): Promise<void> {
    await this.#file?.datasync()
    if (!this.#segment || this.#syncedFolderFor === this.#segment) return
    const folder = await open(dirname(this.#segment.path), 'r').catch(unlessRemoved)
    await folder?.sync().finally(() => folder.close())
    this.#syncedFolderFor = this.#segment
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

/** The rest of the parts after `bytes` bytes were written; a nearly full disk writes less than requested. */
function withoutWritten(parts: readonly Buffer[], bytes: number): Buffer[] {
  const remaining: Buffer[] = []
  let skip = bytes
  for (const part of parts) {
    if (skip < part.length) remaining.push(part.subarray(skip))
    skip = Math.max(0, skip - part.length)
  }
  return remaining
}

/** The logs of a deleted project are removed while a stream may be open: then there is nothing to sync. */
function unlessRemoved(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}
