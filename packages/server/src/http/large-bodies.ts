import type { FastifyReply, FastifyRequest } from 'fastify'
import { clientOf } from '../platform/address-set.ts'
import { fail } from '../platform/failure.ts'
import { addressOf } from './client-address.ts'

const maxConcurrent = 4
const maxPerClient = 2
/** Limit of concurrent public uploads of any size: a git host sends a few at once, and retries those that were rejected. */
const maxInFlight = 256
const maxArrivalMs = 15_000

/**
 * Limits the memory of public, unauthenticated bodies, which are buffered whole before they can be verified. Large ones are
 * limited in number, per client and in time, so an attacker with many connections can use only this much memory.
 */
export class LargeBodies {
  readonly #clients: string[] = []
  #inFlight = 0

  admit(request: FastifyRequest, reply: FastifyReply, usualBytes: number): void {
    if (this.#inFlight >= maxInFlight)
      fail('unavailable', { retryAfterSeconds: 5, message: 'Too many uploads in progress. Try again in 5 s.' })
    this.#inFlight += 1
    let hasEnded = false
    const end = () => {
      if (!hasEnded) this.#inFlight -= 1
      hasEnded = true
    }
    reply.raw.once('finish', end).once('close', end)
    // The size of a chunked body is unknown.
    const bytes = request.headers['transfer-encoding'] ? Number.POSITIVE_INFINITY : Number(request.headers['content-length'] ?? 0)
    if (!(bytes > usualBytes)) return
    const client = clientOf(addressOf(request))
    const clientCount = this.#clients.filter((one) => one === client).length
    if (this.#clients.length >= maxConcurrent || clientCount >= maxPerClient)
      fail('rate_limited', { retryAfterSeconds: 5, message: 'Too many large requests in progress. Try again in 5 s.' })
    this.#clients.push(client)
    const timer = setTimeout(() => {
      if (!request.raw.complete) request.raw.destroy()
    }, maxArrivalMs)
    reply.raw.once('close', () => {
      clearTimeout(timer)
      this.#clients.splice(this.#clients.indexOf(client), 1)
    })
  }
}
