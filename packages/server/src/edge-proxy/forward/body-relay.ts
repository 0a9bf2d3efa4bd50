import { asChunk, ChunkedBody } from '../message/chunked-body.ts'
import { chunked, type ResponseHead, untilClose } from '../message/response-head.ts'

/**
 * How the upstream's body bytes are converted for the client: `sized` and `chunks` keep the framing of a known length or of chunks,
 * `unchunk` removes the chunks for an HTTP/1.0 client, `rechunk` makes chunks of a body that ends with the upstream's connection,
 * and `raw` ends such a body with the client's connection.
 */
type Relay = 'sized' | 'chunks' | 'unchunk' | 'rechunk' | 'raw'

/** Converts the body of one response from the upstream's framing to the client's. */
export class BodyRelay {
  /** True when the whole body has passed. */
  done = false
  /** Bytes of the body, without framing. */
  bodyBytes = 0
  readonly #relay: Relay
  readonly #write: (bytes: Buffer) => void
  readonly #chunks: ChunkedBody | undefined
  #bytesLeft: number

  /** `write` receives copies that it may keep. */
  constructor(response: ResponseHead, clientMinor: 0 | 1, write: (bytes: Buffer) => void) {
    this.#relay = relayFor(response, clientMinor)
    this.#write = write
    this.#bytesLeft = Math.max(0, response.body)
    if (this.#relay === 'unchunk') this.#chunks = new ChunkedBody((bytes) => write(Buffer.from(bytes)))
    else if (this.#relay === 'chunks') this.#chunks = new ChunkedBody()
  }

  /** Forwards the bytes that belong to the body. Returns the index after its last byte, -1 if the framing is invalid. */
  feed(input: Buffer, from: number): number {
    if (this.#chunks) return this.#feedChunks(this.#chunks, input, from)
    const to = this.#relay === 'sized' ? Math.min(input.length, from + this.#bytesLeft) : input.length
    if (this.#relay === 'sized') {
      this.#bytesLeft -= to - from
      this.done = this.#bytesLeft === 0
    }
    this.bodyBytes += to - from
    const bytes = input.subarray(from, to)
    if (to > from) this.#write(this.#relay === 'rechunk' ? asChunk(bytes) : Buffer.from(bytes))
    return to
  }

  /** The upstream has closed its side without an error. Returns false if the body was incomplete. */
  close(): boolean {
    if (this.#relay === 'rechunk') this.#write(Buffer.from('0\r\n\r\n'))
    return this.#relay === 'rechunk' || this.#relay === 'raw'
  }

  #feedChunks(chunks: ChunkedBody, input: Buffer, from: number): number {
    const to = chunks.feed(input, from)
    if (to > from && this.#relay === 'chunks') this.#write(Buffer.from(input.subarray(from, to)))
    this.bodyBytes = chunks.bodyBytes
    this.done = chunks.done
    return to
  }
}

/** The length in the client's response head: a number of bytes, `chunked`, `untilClose` or `omitted`. */
export function framingFor(response: ResponseHead, clientMinor: 0 | 1): number | 'omitted' {
  const relay = relayFor(response, clientMinor)
  if (relay === 'chunks' || relay === 'rechunk') return chunked
  if (relay !== 'sized') return untilClose
  return response.contentLength >= 0 ? response.contentLength : 'omitted'
}

function relayFor(response: ResponseHead, clientMinor: 0 | 1): Relay {
  if (response.body >= 0) return 'sized'
  if (response.body === chunked) return clientMinor === 1 ? 'chunks' : 'unchunk'
  return clientMinor === 1 ? 'rechunk' : 'raw'
}
