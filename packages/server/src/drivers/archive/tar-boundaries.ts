import { crc32 } from 'node:zlib'

const block = 512
/** Types of extended headers, which belong to the entry that follows. */
const extensions = new Set(['x', 'g', 'L', 'K'])

export interface TarEntryStart {
  /** Size of the content in bytes. */
  size: number
  /** Hash of the name. */
  nameHash: number
  /** The previous entry was an extended header of this one. */
  isContinued: boolean
}

/**
 * Finds the beginnings of entries in a tar stream. The result decides only where parts are split, never their content: a stream
 * that is no tar, or a broken one, is handled like any other content.
 */
export class TarBoundaries {
  #header = Buffer.alloc(block)
  #headerBytes = 0
  #skip = 0
  #isContinued = false
  #isInvalid = false

  /** Reads from `at`: returns how many bytes belong to the current entry, and an entry whose header is complete. */
  read(chunk: Uint8Array, at: number): { bytes: number; entry?: TarEntryStart } {
    const rest = chunk.length - at
    if (this.#isInvalid) return { bytes: rest }
    if (this.#skip > 0) {
      const bytes = Math.min(rest, this.#skip)
      this.#skip -= bytes
      return { bytes }
    }
    const bytes = Math.min(rest, block - this.#headerBytes)
    this.#header.set(chunk.subarray(at, at + bytes), this.#headerBytes)
    this.#headerBytes += bytes
    if (this.#headerBytes < block) return { bytes }
    this.#headerBytes = 0
    return { bytes, ...this.#read() }
  }

  #read(): { entry?: TarEntryStart } {
    const header = this.#header
    // The end of the archive, or padding between archives.
    if (header[0] === 0) return {}
    const size = parseNumber(header.subarray(124, 136))
    const statedChecksum = parseNumber(header.subarray(148, 156))
    if (size === null || statedChecksum !== checksum(header)) {
      this.#isInvalid = true
      return {}
    }
    const isContinued = this.#isContinued
    this.#isContinued = extensions.has(String.fromCharCode(header[156]!))
    this.#skip = Math.ceil(size / block) * block
    return { entry: { size, nameHash: crc32(header.subarray(0, 100)), isContinued } }
  }
}

function checksum(header: Buffer): number {
  // The field of the checksum counts as eight spaces.
  let sum = 8 * 32
  for (let at = 0; at < block; at += 1) if (at < 148 || at >= 156) sum += header[at]!
  return sum
}

/** Octal digits, or a base-256 number from 8 GiB on. */
function parseNumber(field: Buffer): number | null {
  if (field[0] === 0x80) return field.readUIntBE(field.length - 6, 6)
  const digits = field
    .toString('latin1')
    .replace(/[\0 ]+$/, '')
    .trim()
  return /^[0-7]*$/.test(digits) ? Number.parseInt(digits || '0', 8) : null
}
