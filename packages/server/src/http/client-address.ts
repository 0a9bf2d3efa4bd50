import { timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'

declare module 'fastify' {
  interface FastifyRequest {
    /** The client's address, read while the connection is open: a closed one has none. */
    clientAddress: string
  }
}

/** A connection that was reset before its request was read. */
const unknownAddress = 'unknown'

/**
 * Trusts the client address that the edge sends with git host deliveries. Projects run on the same machine as the edge, so the
 * edge must prove itself with the key it received with its table.
 */
export function trustEdgeHeader(app: FastifyInstance, key: string): void {
  const known = Buffer.from(key)
  app.decorateRequest('clientAddress', unknownAddress)
  app.addHook('onRequest', (request, _reply, done) => {
    const said = request.headers['berth-edge']
    const client = typeof said === 'string' ? clientIn(said, known) : null
    request.clientAddress = client ?? request.ip ?? unknownAddress
    done()
  })
}

function clientIn(said: string, known: Buffer): string | null {
  // A value that the client itself sent under that name comes after the comma.
  const [key = '', client = ''] = said.split(',', 1)[0]!.split(' ')
  const given = Buffer.from(key)
  return given.length === known.length && timingSafeEqual(given, known) && client ? client : null
}

/** The client: the other end of the connection, or the address that a trusted proxy or our edge names. */
export const addressOf = (request: FastifyRequest): string => request.clientAddress
