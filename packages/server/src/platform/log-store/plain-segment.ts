import { type FileHandle, open } from 'node:fs/promises'
import { parseLine } from './log-entry.ts'
import { type Block, readRange } from './segment.ts'

const chunkBytes = 128 * 1024
const newline = 10

/** Blocks from `offset` to `end`. A line longer than a block extends its block. */
export async function* plainBlocks(file: FileHandle, offset: number, end: number): AsyncGenerator<Block> {
  let rest: Buffer = Buffer.alloc(0)
  for (let at = offset; at < end; ) {
    const chunk = await readRange(file, at, Math.min(chunkBytes, end - at))
    if (chunk.length === 0) return
    at += chunk.length
    const bytes = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk
    const wholeLines = bytes.lastIndexOf(newline) + 1
    rest = bytes.subarray(wholeLines)
    if (wholeLines > 0) yield bytes.subarray(0, wholeLines)
  }
}

/** Blocks from `end` back to the beginning, the last lines first; within a block the lines are in file order. */
export async function* plainBlocksBackward(file: FileHandle, end: number): AsyncGenerator<Block> {
  for await (const { bytes } of piecesBackward(file, end)) yield bytes
}

/**
 * Truncates the file after its last valid line: after a crash the end may hold a partial line or, if the machine went down, bytes
 * that were never written. Returns null if there is no valid line.
 */
export async function recoverPlainFile(path: string): Promise<{ bytes: number; lastId: number } | null> {
  const file = await open(path, 'r+')
  try {
    const { size } = await file.stat()
    for await (const { bytes, start } of piecesBackward(file, size)) {
      const last = lastValidLine(bytes)
      if (!last) continue
      if (start + last.end < size) await file.truncate(start + last.end)
      return { bytes: start + last.end, lastId: last.id }
    }
    await file.truncate(0)
    return null
  } finally {
    await file.close()
  }
}

/**
 * Each piece begins at the start of a line; only the first one may end without a newline. Pieces grow, since most readers want only
 * the last lines.
 */
async function* piecesBackward(file: FileHandle, end: number): AsyncGenerator<{ bytes: Buffer; start: number }> {
  let rest: Buffer = Buffer.alloc(0)
  let chunkSize = chunkBytes / 4
  for (let at = end; at > 0; ) {
    const length = Math.min(chunkSize, at)
    chunkSize = Math.min(chunkSize * 2, chunkBytes)
    at -= length
    const chunk = await readRange(file, at, length)
    const bytes = rest.length > 0 ? Buffer.concat([chunk, rest]) : chunk
    const firstLine = at === 0 ? 0 : bytes.indexOf(newline) + 1
    const hasLineStart = at === 0 || (firstLine > 0 && firstLine < bytes.length)
    rest = hasLineStart ? bytes.subarray(0, firstLine) : bytes
    if (hasLineStart) yield { bytes: bytes.subarray(firstLine), start: at + firstLine }
  }
}

/** Decodes as latin1: one character per byte, for any bytes. */
function lastValidLine(bytes: Buffer): { end: number; id: number } | null {
  for (let end = bytes.lastIndexOf(newline); end >= 0; end = end === 0 ? -1 : bytes.lastIndexOf(newline, end - 1)) {
    const begin = end === 0 ? 0 : bytes.lastIndexOf(newline, end - 1) + 1
    const entry = parseLine(bytes.toString('latin1', begin, end))
    if (entry) return { end: end + 1, id: Number(entry.id) }
  }
  return null
}
