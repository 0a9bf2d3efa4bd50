import { block } from './tar-header.ts'

/** Limit of pieces in one file; more is an attack on memory. */
const maxPieces = 1_000_000
const maxDigits = 20

export interface Piece {
  at: number
  bytes: Uint8Array
}

/** The bytes of a regular file. */
export async function* regularPieces(content: AsyncIterable<Uint8Array>): AsyncGenerator<Piece> {
  let at = 0
  for await (const bytes of content) {
    yield { at, bytes }
    at += bytes.length
  }
}

/**
 * The bytes of a sparse file, each with its offset. The content begins with lines of numbers, padded to a whole block: the
 * number of pieces, then the offset and the length of each. Their bytes follow.
 */
export async function* sparsePieces(content: AsyncIterable<Uint8Array>, realSize: number): AsyncGenerator<Piece> {
  const reader = new Reader(content)
  const map = await readMap(reader)
  await reader.skipToBlock()
  for (const [position, length] of map) {
    if (position + length > realSize) throw damaged()
    for (let done = 0; done < length; ) {
      const bytes = await reader.readSome(length - done)
      yield { at: position + done, bytes }
      done += bytes.length
    }
  }
}

async function readMap(reader: Reader): Promise<[position: number, length: number][]> {
  const count = await reader.readNumber()
  if (count > maxPieces) throw damaged()
  const map: [number, number][] = []
  for (let at = 0; at < count; at += 1) map.push([await reader.readNumber(), await reader.readNumber()])
  return map
}

const damaged = () => new Error('The tar archive has a sparse file with a damaged map')

class Reader {
  readonly #source: AsyncIterator<Uint8Array>
  #chunk: Uint8Array = new Uint8Array()
  #at = 0

  constructor(content: AsyncIterable<Uint8Array>) {
    this.#source = content[Symbol.asyncIterator]()
  }

  /** Returns at least one byte. */
  async readSome(max: number): Promise<Uint8Array> {
    while (this.#chunk.length === 0) {
      const next = await this.#source.next()
      if (next.done) throw damaged()
      this.#chunk = next.value
    }
    const piece = this.#chunk.subarray(0, max)
    this.#chunk = this.#chunk.subarray(piece.length)
    this.#at += piece.length
    return piece
  }

  /** Reads a line of digits. */
  async readNumber(): Promise<number> {
    let digits = ''
    for (;;) {
      const code = this.#chunk.length > 0 ? this.#next() : ((await this.readSome(1))[0] as number)
      if (code === 0x0a) break
      digits += String.fromCharCode(code)
      if (digits.length > maxDigits) throw damaged()
    }
    const number = /^\d+$/.test(digits) ? Number(digits) : Number.NaN
    if (!Number.isSafeInteger(number)) throw damaged()
    return number
  }

  async skipToBlock(): Promise<void> {
    while (this.#at % block !== 0) await this.readSome(block - (this.#at % block))
  }

  #next(): number {
    const code = this.#chunk[0] as number
    this.#chunk = this.#chunk.subarray(1)
    this.#at += 1
    return code
  }
}
