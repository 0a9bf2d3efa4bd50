import { connect, type ServerHttp2Stream } from 'node:http2'
import type { Duplex } from 'node:stream'
import { callEngine, type Engine } from '../engine.ts'

const maxResponseBytes = 64 * 1024 * 1024

/** Opens a connection that the engine upgrades to HTTP/2, for gRPC in either direction. */
export function openUpgraded({ modem }: Engine, path: string, headers: Record<string, string | string[]>): Promise<Duplex> {
  const options = {
    method: 'POST',
    path,
    hijack: true,
    headers: { Upgrade: 'h2c', ...headers },
    statusCodes: { 200: true, 101: true },
  }
  return new Promise((resolve, reject) =>
    modem.dial(options as never, (error: Error | null, socket: unknown) => (error ? reject(error) : resolve(socket as Duplex))),
  )
}

/** Adds gRPC's five-byte header to a message: whether it is compressed, and its length. */
export function framed(message: Uint8Array): Buffer {
  const header = Buffer.alloc(5)
  header.writeUInt32BE(message.length, 1)
  return Buffer.concat([header, message])
}

/** Messages of a stream. Rejects for a message that is compressed or longer than `maxLength`. Leaves the stream open. */
export async function* messagesOf(stream: Duplex, maxLength: number): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    while (rest.length >= 5) {
      const length = rest.readUInt32BE(1)
      if (rest[0] !== 0 || length > maxLength) throw new Error('a message of BuildKit is compressed or too long')
      if (rest.length < 5 + length) break
      yield rest.subarray(5, 5 + length)
      rest = rest.subarray(5 + length)
    }
  }
}

/** Calls a method of BuildKit's own API, which the engine offers at `/grpc`. Returns all messages of the response. */
export function callBuildKit(engine: Engine, method: string, message: Uint8Array, abort?: AbortSignal): Promise<Buffer[]> {
  return callEngine(
    async (signal) => {
      const socket = await openUpgraded(engine, '/grpc', {})
      const session = connect('http://buildkit', { createConnection: () => socket })
      const close = () => {
        session.destroy()
        socket.destroy()
      }
      session.on('error', () => socket.destroy())
      signal.addEventListener('abort', close, { once: true })
      try {
        const headers = { ':method': 'POST', ':path': method, 'content-type': 'application/grpc', te: 'trailers' }
        const stream = session.request(headers)
        let status = ''
        let text = ''
        const readStatus = (headers: Record<string, unknown>) => {
          status = String(headers['grpc-status'] ?? status)
          text = String(headers['grpc-message'] ?? text)
        }
        stream.on('response', readStatus).on('trailers', readStatus)
        stream.end(framed(message))
        const messages: Buffer[] = []
        for await (const message of messagesOf(stream, maxResponseBytes)) messages.push(message)
        if (status !== '0') throw new Error(`BuildKit: ${text || `status ${status}`}`)
        return messages
      } finally {
        signal.removeEventListener('abort', close)
        close()
      }
    },
    abort ? { abort } : {},
  )
}

const contentType = { ':status': 200, 'content-type': 'application/grpc' }

/** Starts a reply. Ending the stream completes it with the status OK. */
export function beginReply(stream: ServerHttp2Stream): void {
  stream.respond(contentType, { waitForTrailers: true })
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
}

export function sendError(stream: ServerHttp2Stream, status: 'not_found' | 'too_large' | 'unimplemented'): void {
  const code = { not_found: 5, too_large: 8, unimplemented: 12 }[status]
  stream.respond({ ...contentType, 'grpc-status': String(code) }, { endStream: true })
}
