import type { FastifyReply, FastifyRequest } from 'fastify'
import { clientOf } from '../platform/address-set.ts'
import { fail } from '../platform/failure.ts'

const mostAtOnce = 4
const mostOfOneClient = 2
const arriveMs = 15_000

/**
 * What anybody may send waits in memory until all of it is there and can be judged. Bodies larger than usual are taken only a
 * few at once, fewer of one client, and must arrive soon: a stranger with many connections costs this much memory and no more.
 */
export class LargeBodies {
  readonly #clients: string[] = []

  admit(request: FastifyRequest, reply: FastifyReply, usualBytes: number): void {
    // Sent in chunks, nobody knows how much it will be.
    const bytes = request.headers['transfer-encoding'] ? Number.POSITIVE_INFINITY : Number(request.headers['content-length'] ?? 0)
    if (!(bytes > usualBytes)) return
    const client = clientOf(request.ip)
    const ofClient = this.#clients.filter((one) => one === client).length
    if (this.#clients.length >= mostAtOnce || ofClient >= mostOfOneClient)
      fail('rate_limited', { retryAfterSeconds: 5, words: 'Too many large bodies arrive at once: try again in 5 s' })
    this.#clients.push(client)
    const late = setTimeout(() => {
      if (!request.raw.complete) request.raw.destroy()
    }, arriveMs)
    reply.raw.once('close', () => {
      clearTimeout(late)
      this.#clients.splice(this.#clients.indexOf(client), 1)
    })
  }
}
