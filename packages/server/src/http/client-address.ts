import { timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { fail } from '../platform/failure.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The client's address, read while the connection is open: a closed connection has none. */
    clientAddress: string
    /** The protocol of the client's connection; a trusted proxy or our edge reports it if the client connects through it. */
    clientProtocol: 'http' | 'https'
    /** Whether our edge or an API process of this instance forwarded the request. */
    isForwarded: boolean
  }
}

/** The address of a connection that was reset before its request was read. */
const unknownAddress = 'unknown'

/** The header with which an API process forwards a request to the worker. */
export const forwardedHeader = 'berth-api'
/** The header of a worker's response to a request that no API process of its instance forwarded. */
export const refusedHeader = 'berth-refused'

export interface ForwarderKeys {
  /** Keys that the edge may have received with its table. */
  edge: readonly string[]
  /** Keys of API processes of this instance. */
  api: readonly string[]
}

/**
 * Trusts the client address and protocol that the edge and API processes send with forwarded requests. Projects run on the same
 * machine, so both must prove themselves with a key.
 */
export function trustForwarders(app: FastifyInstance, keys: ForwarderKeys): void {
  const edgeKeys = keys.edge.map((key) => Buffer.from(key))
  const apiKeys = keys.api.map((key) => Buffer.from(key))
  app.decorateRequest('clientAddress', unknownAddress)
  app.decorateRequest('clientProtocol', 'http')
  app.decorateRequest('isForwarded', false)
  app.addHook('onRequest', (request, _reply, done) => {
    const { headers } = request
    const client = forwardedClient(headers[forwardedHeader], apiKeys) ?? forwardedClient(headers['berth-edge'], edgeKeys)
    request.clientAddress = client?.address ?? request.ip ?? unknownAddress
    request.clientProtocol = client?.protocol ?? request.protocol
    if (client) request.isForwarded = true
    done()
  })
}

/** Refuses requests that were not forwarded, health checks excepted: a worker serves API processes and the edge only. */
export function refuseDirectRequests(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    if (request.isForwarded || request.url === '/api/health') return done()
    reply.header(refusedHeader, 'key')
    fail('forbidden', { message: 'This process is a worker. Send the request to an API process (BERTH_ROLE=api).' })
  })
}

interface ForwardedClient {
  address: string
  protocol: 'http' | 'https'
}

function forwardedClient(headerValue: string | string[] | undefined, expectedKeys: readonly Buffer[]): ForwardedClient | null {
  if (typeof headerValue !== 'string') return null
  // The edge prepends its value: a value that the client sent in the same header comes after the comma.
  const [key = '', address = '', protocol = ''] = headerValue.split(',', 1)[0]!.split(' ')
  const sentKey = Buffer.from(key)
  const isKnown = expectedKeys.some((expected) => sentKey.length === expected.length && timingSafeEqual(sentKey, expected))
  if (!isKnown || !address) return null
  return { address, protocol: protocol === 'https' ? 'https' : 'http' }
}

/** The client's address: the peer of the connection, or the address that a trusted proxy or our edge reports. */
export const addressOf = (request: FastifyRequest): string => request.clientAddress
