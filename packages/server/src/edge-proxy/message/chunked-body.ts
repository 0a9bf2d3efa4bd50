/**
 * Parses the chunked transfer coding strictly: only CRLF, only hexadecimal sizes, bounded extensions and trailers. A caller that
 * changes the framing passes `onData`, which receives the body bytes of one input as one buffer: a buffer for each of many tiny
 * chunks would need far more memory than their bytes. A caller that forwards the bytes unchanged passes no `onData`.
 */
export class ChunkedBody {
  done = false
  /** Bytes of the body so far, without framing. */
  bodyBytes = 0
  #state: State = 'size'
  #chunkBytesLeft = 0
  #sizeDigits = 0
  /** Size of all extensions and trailers so far. */
  #extraBytes = 0
  /** The extension or trailer line being read. */
  #line = ''
  #pieces: Buffer[] = []
  readonly #onData: ((bytes: Buffer) => void) | undefined

  constructor(onData?: (bytes: Buffer) => void) {
    this.#onData = onData
  }

  /** Consumes bytes from `start`; returns the index after the last byte of the body, or -1 if the body is malformed. */
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
    const end = Math.min(chunk.length, at + this.#chunkBytesLeft)
    this.#chunkBytesLeft -= end - at
    this.bodyBytes += end - at
    if (this.#onData) this.#pieces.push(chunk.subarray(at, end))
    if (this.#chunkBytesLeft === 0) this.#state = 'dataCr'
    return end
  }

  /** False if the byte is not allowed here. */
  #takeByte(byte: number): boolean {
    switch (this.#state) {
      case 'size':
        return this.#takeSize(byte)
      case 'extension':
        return byte === cr ? extensionForm.test(this.#line) && this.#enter('sizeLf') : this.#takeText(byte)
      case 'sizeLf':
        if (byte !== lf) return false
        this.#line = ''
        return this.#enter(this.#chunkBytesLeft > 0 ? 'data' : 'trailer')
      case 'dataCr':
        return byte === cr && this.#enter('dataLf')
      case 'dataLf':
        this.#sizeDigits = 0
        return byte === lf && this.#enter('size')
      case 'trailer':
        return this.#takeTrailer(byte)
      case 'trailerLf':
        if (byte !== lf) return false
        this.done = this.#line === ''
        this.#line = ''
        return this.#enter('trailer')
      default:
        return false
    }
  }

  #takeSize(byte: number): boolean {
    const digit = hexDigit(byte)
    if (digit >= 0) {
      this.#chunkBytesLeft = this.#sizeDigits === 0 ? digit : this.#chunkBytesLeft * 16 + digit
      this.#sizeDigits += 1
      return this.#sizeDigits <= 12
    }
    if (this.#sizeDigits === 0) return false
    if (byte === cr) return this.#enter('sizeLf')
    return byte === semicolon && this.#takeText(byte) && this.#enter('extension')
  }

  #takeTrailer(byte: number): boolean {
    if (byte !== cr) return this.#takeText(byte)
    return (this.#line === '' || trailerForm.test(this.#line)) && this.#enter('trailerLf')
  }

  #takeText(byte: number): boolean {
    this.#extraBytes += 1
    this.#line += String.fromCharCode(byte)
    return this.#extraBytes <= maxExtraBytes && (byte === tab || (byte >= space && byte !== del))
  }

  /** Returns true, so that it can end a condition. */
  #enter(state: State): true {
    this.#state = state
    return true
  }
}

type State = 'size' | 'extension' | 'sizeLf' | 'data' | 'dataCr' | 'dataLf' | 'trailer' | 'trailerLf'

/** Maximum size of all extensions and trailers of one body. */
const maxExtraBytes = 16_384
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
