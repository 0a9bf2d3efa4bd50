import { type FileHandle, open } from 'node:fs/promises'

/** A file of lines ordered by id: plain while it grows, then compressed in blocks ("packed"). */
export interface Segment {
  readonly firstId: number
  /** Id of the last line in the file. */
  lastId: number
  form: 'plain' | 'packed'
  path: string
  /** File size. A plain segment is read up to here; the bytes after it are still being written. */
  bytes: number
  /** Times of the earliest and latest entry, in milliseconds; null for a plain segment, which is not indexed. */
  times: { earliest: number; latest: number } | null
}

/** Whole lines in file order, as in the plain file. */
export type Block = Buffer

/** Null if the segment was removed. Packing moves a segment to another path, so after a missing file the path is read again. */
export async function openSegment(segment: Segment): Promise<{ file: FileHandle; form: Segment['form']; bytes: number } | null> {
  for (;;) {
    const { form, path, bytes } = segment
    try {
      return { file: await open(path, 'r'), form, bytes }
    } catch (error) {
      if (!isMissing(error)) throw error
      if (segment.path === path) return null
    }
  }
}

export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}

/** Reads exactly the given range; if the file is shorter, returns the available bytes. */
export async function readRange(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(length)
  let filled = 0
  while (filled < length) {
    const { bytesRead } = await file.read(buffer, filled, length - filled, position + filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return buffer.subarray(0, filled)
}
