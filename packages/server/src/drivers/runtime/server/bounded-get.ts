import { type Agent, request } from 'node:http'
import { createYoungCollector } from '../../../platform/steady-memory.ts'

/** The engine's response is longer than allowed. `head` is its beginning. */
export class ResponseTooLong extends Error {
  override readonly name = 'ResponseTooLong'
  readonly head: string

  constructor(path: string, maxBytes: number, head: string) {
    super(`The response to ${path.split('?')[0]} is longer than ${Math.round(maxBytes / 1024)} KB`)
    this.head = head
  }
}

/** The responses together exceed the allowance. The reader sends no further requests. */
export class ResponsesTooLarge extends Error {
  override readonly name = 'ResponsesTooLarge'
}

/** The engine responded with an error status. */
export class RequestRefused extends Error {
  override readonly name = 'RequestRefused'
  readonly status: number

  constructor(path: string, status: number, message: string) {
    super(`The engine answered ${path.split('?')[0]} with ${status}: ${message}`)
    this.status = status
  }
}

const requestTimeoutMs = 20_000
const headBytes = 256
const maxMessageBytes = 300

/** Byte budget of one reading of a server: bytes held in memory, and bytes received in all. */
export class Allowance {
  #kept: number
  #received: number

  constructor({ kept, received }: { kept: number; received: number }) {
    this.#kept = kept
    this.#received = received
  }

  /** Returns false if the budget is exceeded. */
  take(bytes: number): boolean {
    this.#kept -= bytes
    this.#received -= bytes
    return this.#kept >= 0 && this.#received >= 0
  }

  /** Returns discarded bytes to the budget of held bytes. They still count as received. */
  release(bytes: number): void {
    this.#kept += bytes
  }
}

export interface ResponseLimits<T> {
  maxBytes: number
  /** Shared by all responses of the reading. */
  allowance: Allowance
  /** Extracts the needed parts; the rest of the response is dropped. */
  extract(response: unknown): T
}

/** Gets a JSON response of an engine within a time limit. Holds at most `maxBytes` of it in memory. */
export function boundedGet<T>(
  path: string,
  agent: Agent,
  { maxBytes, allowance, extract }: ResponseLimits<T>,
  abort: AbortSignal,
): Promise<T> {
  const timeout = AbortSignal.timeout(requestTimeoutMs)
  const onChunk = createYoungCollector()
  return new Promise((resolve, reject) => {
    const outgoing = request({ agent, path, host: 'docker', signal: AbortSignal.any([abort, timeout]) })
    const fail = (error: unknown) => {
      outgoing.destroy()
      reject(
        abort.aborted
          ? abort.reason
          : timeout.aborted
            ? new Error(`no response to ${path.split('?')[0]} within ${requestTimeoutMs / 1000} s`)
            : error,
      )
    }
    outgoing.once('error', fail)
    outgoing.once('response', (response) => {
      const chunks: Buffer[] = []
      let length = 0
      response.on('data', (chunk: Buffer) => {
        onChunk(chunk)
        chunks.push(chunk)
        length += chunk.length
        if (!allowance.take(chunk.length)) return fail(new ResponsesTooLarge('the server returned too much data'))
        if (length <= maxBytes) return
        allowance.release(length)
        fail(new ResponseTooLong(path, maxBytes, Buffer.concat(chunks).toString('latin1', 0, headBytes)))
      })
      response.once('error', fail)
      let hasEnded = false
      response.once('end', () => {
        hasEnded = true
        const body = () => Buffer.concat(chunks.splice(0)).toString('utf8')
        if (response.statusCode !== 200)
          return fail(new RequestRefused(path, response.statusCode ?? 0, body().slice(0, maxMessageBytes)))
        try {
          const extracted = extract(JSON.parse(body()))
          allowance.release(length - JSON.stringify(extracted ?? null).length)
          resolve(extracted)
        } catch (error) {
          fail(error)
        }
      })
      response.once('close', () => {
        if (!hasEnded) fail(new Error('the connection was closed before the response had ended'))
      })
    })
    outgoing.end()
  })
}
