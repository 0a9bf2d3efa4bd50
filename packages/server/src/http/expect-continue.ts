import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'

const waiting = new WeakSet<IncomingMessage>()
const rawBytes = /^application\/(?:gzip|octet-stream)\b/i

/** Delays `100 Continue` for uploads until the request head is accepted; other bodies are accepted at once. */
export function holdContinue(app: FastifyInstance): void {
  app.server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    if (rawBytes.test(request.headers['content-type'] ?? '')) waiting.add(request)
    else response.writeContinue()
    app.server.emit('request', request, response)
  })
}

/** Call before reading the body. */
export function continueBody(request: IncomingMessage, response: ServerResponse): void {
  if (waiting.delete(request)) response.writeContinue()
}

/** The bytes of an upload; the client is told to send them at the first read. */
export async function* bytesOf(request: IncomingMessage, response: ServerResponse): AsyncGenerator<Uint8Array> {
  continueBody(request, response)
  // A handler that stops reading must not close the connection: its response still has to be sent.
  yield* request.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>
}
