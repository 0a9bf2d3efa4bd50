import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'

const waiting = new WeakSet<IncomingMessage>()
const rawBytes = /^application\/(?:gzip|octet-stream)\b/i

/** A client that asks first (`Expect: 100-continue`) sends an upload only after its head was accepted; other bodies at once. */
export function holdContinue(app: FastifyInstance): void {
  app.server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    if (rawBytes.test(request.headers['content-type'] ?? '')) waiting.add(request)
    else response.writeContinue()
    app.server.emit('request', request, response)
  })
}

/** To be called when the body is about to be read. */
export function continueBody(request: IncomingMessage, response: ServerResponse): void {
  if (waiting.delete(request)) response.writeContinue()
}

/** The bytes of an upload, asked for with the first read. */
export async function* bytesOf(request: IncomingMessage, response: ServerResponse): AsyncGenerator<Uint8Array> {
  continueBody(request, response)
  // A handler that stops reading must not cut the connection: its answer still has to go out.
  yield* request.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>
}
