/**
 * Parses the chunked transfer coding strictly: only CRLF, only hexadecimal sizes, bounded extensions and trailers. `onData`
 * receives the body bytes of one input in one piece, for callers that change the framing; callers that forward the bytes unchanged
 * need only the end. One piece, because many tiny chunks would need far more memory than they have bytes.
 */
export class ChunkedBody {
  done = false
  /** Bytes of the body so far, without framing. */
  bodyBytes = 0
  #state: State = 'size'
  #left = 0
  #digits = 0
  #extra = 0
  /** The extension or trailer line being read. */
  #line = ''
  #pieces: Buffer[] = []
  readonly #onData: ((bytes: Buffer) => void) | undefined

  constructor(onData?: (bytes: Buffer) => void) {
    this.#onData = onData
  }

  /** Consumes bytes from `start`; returns the index after the last one that belongs to the body, or -1 if it is malformed. */
  feed(chunk: Buffer, start: number): number {
    const end = this.#read(chunk, start)
    if (this.#pieces.length > 0) {
      const bytes = this.#pieces.length === 1 ? this.#pieces[0]! : Buffer.concat(this.#pieces)
      this.#pieces = []
      if (end !== -1) this.#onData?.(bytes)
    }
    return end
  }

  #read(chunk: Buffer, start: number): number {
    let at = start
    while (at < chunk.length && !this.done) {
      if (this.#state === 'data') {
        at = this.#takeData(chunk, at)
        continue
      }
      if (!this.#takeByte(chunk[at]!)) return -1
      at += 1
    }
    return at
  }

  #takeData(chunk: Buffer, at: number): number {
    const end = Math.min(chunk.length, at + this.#left)
    this.#left -= end - at
    this.bodyBytes += end - at
    if (this.#onData) this.#pieces.push(chunk.subarray(at, end))
    if (this.#left === 0) this.#state = 'dataCr'
    return end
  }

  #takeByte(byte: number): boolean {
    switch (this.#state) {
      case 'size':
        return this.#takeSize(byte)
      case 'extension':
        return byte === cr ? extensionForm.test(this.#line) && this.#to('sizeLf') : this.#takeText(byte)
      case 'sizeLf':
        if (byte !== lf) return false
        this.#line = ''
        return this.#to(this.#left > 0 ? 'data' : 'trailer')
      case 'dataCr':
        return byte === cr && this.#to('dataLf')
      case 'dataLf':
        this.#digits = 0
        return byte === lf && this.#to('size')
      case 'trailer':
        return this.#takeTrailer(byte)
      case 'trailerLf':
        if (byte !== lf) return false
        this.done = this.#line === ''
        this.#line = ''
        return this.#to('trailer')
      default:
        return false
    }
  }

  #takeSize(byte: number): boolean {
    const digit = hexDigit(byte)
    if (digit >= 0) {
      this.#left = this.#digits === 0 ? digit : this.#left * 16 + digit
      this.#digits += 1
      return this.#digits <= 12
    }
    if (this.#digits === 0) return false
    if (byte === cr) return this.#to('sizeLf')
    return byte === semicolon && this.#takeText(byte) && this.#to('extension')
  }

  #takeTrailer(byte: number): boolean {
    if (byte !== cr) return this.#takeText(byte)
    return (this.#line === '' || trailerForm.test(this.#line)) && this.#to('trailerLf')
  }

  #takeText(byte: number): boolean {
    this.#extra += 1
    this.#line += String.fromCharCode(byte)
    return this.#extra <= maxExtra && (byte === tab || (byte >= space && byte !== del))
  }

  #to(state: State): true {
    this.#state = state
    return true
  }
}

type State = 'size' | 'extension' | 'sizeLf' | 'data' | 'dataCr' | 'dataLf' | 'trailer' | 'trailerLf'

/** Maximum size of all extensions and trailers of one body. */
const maxExtra = 16_384
/**
 * Extensions and trailers are forwarded unchanged, so they must have a form that every parser reads as an extension or a header
 * line.
 */
const extensionForm = /^(?:;[!#$%&'*+\-.^_`|~0-9A-Za-z]+(?:=(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+|"(?:[^"\\]|\\.)*"))?)+$/
const trailerForm =
  /^(?!(?:content-length|transfer-encoding|host|connection|keep-alive|upgrade|te|expect):)[!#$%&'*+\-.^_`|~0-9A-Za-z]+:/i
const cr = 13
const lf = 10
const tab = 9
const space = 32
const del = 127
const semicolon = 59

function hexDigit(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48
  const letter = byte | 32
  return letter >= 97 && letter <= 102 ? letter - 87 : -1
}

/** Encodes the bytes, at least one, as a chunk. */
export function asChunk(bytes: Buffer): Buffer {
  const size = `${bytes.length.toString(16)}\r\n`
  const chunk = Buffer.allocUnsafe(size.length + bytes.length + 2)
  chunk.write(size, 0, 'latin1')
  bytes.copy(chunk, size.length)
  chunk[chunk.length - 2] = cr
  chunk[chunk.length - 1] = lf
  return chunk
}
