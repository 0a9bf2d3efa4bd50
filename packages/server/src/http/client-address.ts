import { timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'

declare module 'fastify' {
  interface FastifyRequest {
    /** The client's address, read while the connection is open: a closed connection has none. */
    clientAddress: string
    /** The protocol of the client's connection; a trusted proxy or our edge reports it if the client connects through it. */
    clientProtocol: 'http' | 'https'
  }
}

/** The address of a connection that was reset before its request was read. */
const unknownAddress = 'unknown'

/**
 * Trusts the client address and protocol that the edge sends with forwarded requests. Projects run on the same machine as the
 * edge, so the edge must prove itself with the key it received with its table.
 */
export function trustEdgeHeader(app: FastifyInstance, key: string): void {
  const expectedKey = Buffer.from(key)
  app.decorateRequest('clientAddress', unknownAddress)
  app.decorateRequest('clientProtocol', 'http')
  app.addHook('onRequest', (request, _reply, done) => {
    const headerValue = request.headers['berth-edge']
    const client = typeof headerValue === 'string' ? parseEdgeHeader(headerValue, expectedKey) : null
    request.clientAddress = client?.address ?? request.ip ?? unknownAddress
    request.clientProtocol = client?.protocol ?? request.protocol
    done()
  })
}

interface EdgeClient {
  address: string
  protocol: 'http' | 'https'
}

function parseEdgeHeader(headerValue: string, expectedKey: Buffer): EdgeClient | null {
  // The edge prepends its value: a value that the client sent in the same header comes after the comma.
  const [key = '', address = '', protocol = ''] = headerValue.split(',', 1)[0]!.split(' ')
  const sentKey = Buffer.from(key)
  if (sentKey.length !== expectedKey.length || !timingSafeEqual(sentKey, expectedKey) || !address) return null
  return { address, protocol: protocol === 'https' ? 'https' : 'http' }
}

/** The client's address: the peer of the connection, or the address that a trusted proxy or our edge reports. */
export const addressOf = (request: FastifyRequest): string => request.clientAddress
