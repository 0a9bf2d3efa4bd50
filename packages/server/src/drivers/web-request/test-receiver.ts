import { readFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'

export interface Received {
  method: string
  path: string
  headers: IncomingHttpHeaders
  body: string
  /** The server name in the TLS handshake. */
  servername: string | undefined
}

/** A real HTTP receiver on loopback that records its requests. For tests only. */
export interface Receiver extends AsyncDisposable {
  readonly port: number
  readonly url: string
  readonly received: Received[]
  connections: number
  /** Settles when every connection so far is closed. */
  quiet(): Promise<void>
}

type Answer = (response: ServerResponse, request: Received) => void
type Location = { host?: string; port?: number; tls?: boolean }

export const testAuthority = readFileSync(new URL('fixtures/authority.pem', import.meta.url), 'utf8')
export const testServerCertificate = {
  key: readFileSync(new URL('fixtures/server-key.pem', import.meta.url), 'utf8'),
  cert: readFileSync(new URL('fixtures/server.pem', import.meta.url), 'utf8'),
}

export async function startReceiver(
  answer: Answer = (response) => response.end('ok'),
  location: Location = {},
): Promise<Receiver> {
  const { host = '127.0.0.1', port = 0, tls = false } = location
  const server = tls ? createTlsServer(testServerCertificate) : createServer()
  const received: Received[] = []
  const open = new Map<Socket, Promise<unknown>>()
  server.on('connection', (socket: Socket) => {
    receiver.connections += 1
    const { promise, resolve } = Promise.withResolvers<void>()
    open.set(socket, promise)
    socket.once('close', resolve)
  })
  server.on('request', async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const servername = 'servername' in request.socket ? String(request.socket.servername) : undefined
    const { method = '', url: path = '', headers } = request
    const seen = { method, path, headers, body: Buffer.concat(chunks).toString(), servername }
    received.push(seen)
    answer(response, seen)
  })
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve))
  const listeningPort = (server.address() as AddressInfo).port
  const receiver: Receiver = {
    port: listeningPort,
    url: `${tls ? 'https' : 'http'}://${host}:${listeningPort}`,
    received,
    connections: 0,
    quiet: async () => void (await Promise.all(open.values())),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return receiver
}
