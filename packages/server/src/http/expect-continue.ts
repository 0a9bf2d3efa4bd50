import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'

const awaitingContinue = new WeakSet<IncomingMessage>()
const rawBytes = /^application\/(?:gzip|octet-stream)\b/i

/** Delays `100 Continue` for uploads until the request head is accepted; other bodies are accepted at once. */
export function delayContinue(app: FastifyInstance): void {
  app.server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    if (rawBytes.test(request.headers['content-type'] ?? '')) awaitingContinue.add(request)
    else response.writeContinue()
    app.server.emit('request', request, response)
  })
}

/** Call before reading the body. */
export function continueBody(request: IncomingMessage, response: ServerResponse): void {
  if (awaitingContinue.delete(request)) response.writeContinue()
}

/** The bytes of an upload; `100 Continue` is sent at the first read. */
export async function* uploadBytes(request: IncomingMessage, response: ServerResponse): AsyncGenerator<Uint8Array> {
  continueBody(request, response)
  // A handler that stops reading must not close the connection: its response still has to be sent.
  yield* request.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>
}
