import { timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'

declare module 'fastify' {
  interface FastifyRequest {
    /** The address of the client, read while the connection is open: a client that has gone away has none. */
    clientAddress: string
  }
}

/** A connection that was reset before its request was read. */
const unknownAddress = 'unknown'

/**
 * Deliveries of git hosts may come by the edge, which is a program on this machine, as projects are: only who knows the key
 * that it was given with its table is believed about the client.
 */
export function believeTheEdge(app: FastifyInstance, key: string): void {
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
  // What the client itself has sent under that name comes behind.
  const [key = '', client = ''] = said.split(',', 1)[0]!.split(' ')
  const given = Buffer.from(key)
  return given.length === known.length && timingSafeEqual(given, known) && client ? client : null
}

/** The client: the other end of the connection, or the address that a trusted proxy or our edge names. */
export const addressOf = (request: FastifyRequest): string => request.clientAddress
