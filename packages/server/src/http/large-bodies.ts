import type { FastifyReply, FastifyRequest } from 'fastify'
import { clientOf } from '../platform/address-set.ts'
import { fail } from '../platform/failure.ts'
import { addressOf } from './client-address.ts'

const mostAtOnce = 4
const mostOfOneClient = 2
/** Of whatever size, from whomever: a git host sends a few at once, and comes again with what was not taken. */
const mostUnderWay = 256
const arriveMs = 15_000

/**
 * What anybody may send waits in memory until all of it is there and can be judged. Bodies larger than usual are taken only a
 * few at once, fewer of one client, and must arrive soon: a stranger with many connections costs this much memory and no more.
 */
export class LargeBodies {
  readonly #clients: string[] = []
  #underWay = 0

  admit(request: FastifyRequest, reply: FastifyReply, usualBytes: number): void {
    if (this.#underWay >= mostUnderWay)
      fail('unavailable', { retryAfterSeconds: 5, words: 'Too many uploads in progress. Try again in 5 s.' })
    this.#underWay += 1
    let isOver = false
    const end = () => {
      if (!isOver) this.#underWay -= 1
      isOver = true
    }
    reply.raw.once('finish', end).once('close', end)
    // Sent in chunks, nobody knows how much it will be.
    const bytes = request.headers['transfer-encoding'] ? Number.POSITIVE_INFINITY : Number(request.headers['content-length'] ?? 0)
    if (!(bytes > usualBytes)) return
    const client = clientOf(addressOf(request))
    const ofClient = this.#clients.filter((one) => one === client).length
    if (this.#clients.length >= mostAtOnce || ofClient >= mostOfOneClient)
      fail('rate_limited', { retryAfterSeconds: 5, words: 'Too many large requests in progress. Try again in 5 s.' })
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
