import { type FileHandle, open } from 'node:fs/promises'

/** A file of lines in order of their ids: plain while it grows and until it is packed, then compressed in blocks. */
export interface Segment {
  readonly firstId: number
  /** Of the last line that is in the file. */
  lastId: number
  form: 'plain' | 'packed'
  path: string
  /** Of the file. A plain one is read up to here and no further: what follows is being written. */
  bytes: number
  /** Of the entries, earliest and latest, in milliseconds; null for a plain one, which has not been looked through. */
  times: { earliest: number; latest: number } | null
}

/** Whole lines, in the order of the file, and how many bytes of the plain file they take. */
export interface Block {
  text: string
  plainBytes: number
}

/** Null when the segment was removed. Packing moves a segment to another path, so a path that is gone is looked up once more. */
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

/** Reads exactly the asked range; a file that is shorter gives what is there. */
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
