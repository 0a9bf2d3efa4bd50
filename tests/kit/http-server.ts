import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface HttpServer extends AsyncDisposable {
  readonly url: string
  readonly server: Server
  close(): Promise<void>
}

/** A web server on loopback for one test, such as an origin or the receiver of a webhook. */
export async function serve(listener: RequestListener, port = 0): Promise<HttpServer> {
  const server = createServer(listener)
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const close = async () => {
    const closed = new Promise((resolve) => server.close(resolve))
    server.closeAllConnections()
    await closed
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server, close, [Symbol.asyncDispose]: close }
}
