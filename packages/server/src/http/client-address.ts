import { timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'

declare module 'fastify' {
  interface FastifyRequest {
    /** Whom the edge has passed the request on for. */
    passedOnFor: string | null
  }
}

/**
 * Deliveries of git hosts may come by the edge, which is a program on this machine, as projects are: only who knows the key
 * that it was given with its table is believed about the client.
 */
export function believeTheEdge(app: FastifyInstance, key: string): void {
  const known = Buffer.from(key)
  app.decorateRequest('passedOnFor', null)
  app.addHook('onRequest', (request, _reply, done) => {
    const said = request.headers['berth-edge']
    if (typeof said === 'string') request.passedOnFor = clientIn(said, known)
    done()
  })
}

function clientIn(said: string, known: Buffer): string | null {
  // What the client itself has sent under that name comes behind.
  const [key = '', client = ''] = said.split(',', 1)[0]!.split(' ')
  const given = Buffer.from(key)
  return given.length === known.length && timingSafeEqual(given, known) && client ? client : null
}

/** Who asks: the other end of the connection, or whom a trusted proxy or our edge names. */
export const addressOf = (request: FastifyRequest): string => request.passedOnFor ?? request.ip
