import { timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'

declare module 'fastify' {
  interface FastifyRequest {
    /** The client's address, read while the connection is open: a closed one has none. */
    clientAddress: string
    /** The protocol that the client uses: that of the connection, or the one that a trusted proxy or our edge names. */
    clientProtocol: 'http' | 'https'
  }
}

/** A connection that was reset before its request was read. */
const unknownAddress = 'unknown'

/**
 * Trusts the client address and protocol that the edge sends with forwarded requests. Projects run on the same machine as the
 * edge, so the edge must prove itself with the key it received with its table.
 */
export function trustEdgeHeader(app: FastifyInstance, key: string): void {
  const known = Buffer.from(key)
  app.decorateRequest('clientAddress', unknownAddress)
  app.decorateRequest('clientProtocol', 'http')
  app.addHook('onRequest', (request, _reply, done) => {
    const reported = request.headers['berth-edge']
    const client = typeof reported === 'string' ? clientIn(reported, known) : null
    request.clientAddress = client?.address ?? request.ip ?? unknownAddress
    request.clientProtocol = client?.protocol ?? request.protocol
    done()
  })
}

interface EdgeClient {
  address: string
  protocol: 'http' | 'https'
}

function clientIn(reported: string, known: Buffer): EdgeClient | null {
  // A value that the client itself sent under that name comes after the comma.
  const [key = '', address = '', protocol = ''] = reported.split(',', 1)[0]!.split(' ')
  const given = Buffer.from(key)
  if (given.length !== known.length || !timingSafeEqual(given, known) || !address) return null
  return { address, protocol: protocol === 'https' ? 'https' : 'http' }
}

/** The client: the other end of the connection, or the address that a trusted proxy or our edge names. */
export const addressOf = (request: FastifyRequest): string => request.clientAddress
