import type { RequestExchange, ResponseHandler } from '../answer/response-handler.ts'
import type { UpstreamConnection, UpstreamUser } from '../routing/upstream.ts'

/** An upgraded connection, usually a WebSocket: bytes pass both ways, and each direction closes separately. */
export class Tunnel implements ResponseHandler, UpstreamUser {
  readonly #exchange: RequestExchange
  #connection: UpstreamConnection | undefined

  /** Takes over the connection, and its count of requests in flight, from the handler that opened it. */
  constructor(exchange: RequestExchange, connection: UpstreamConnection) {
    this.#exchange = exchange
    this.#connection = connection
    connection.user = this
  }

  start(): void {
    this.#extendDeadline('tunnelIdleMs')
    const early = this.#exchange.client.enterTunnel()
    if (early) this.#exchange.bodyData(early)
  }

  bodyData(bytes: Buffer): void {
    this.#extendDeadline('tunnelIdleMs')
    if (this.#connection && !this.#connection.socket.write(bytes)) this.#exchange.client.block(true)
  }

  bodyEnd(): void {}

  clientDrained(): void {
    this.#connection?.resume()
  }

  clientEnded(): void {
    // The client may be gone: the edge cannot see the difference, so the other direction gets a shorter time limit.
    this.#extendDeadline('requestIdleMs')
    this.#connection?.socket.end()
  }

  clientDisconnected(): void {
    this.#releaseConnection()
  }

  timedOut(): void {
    this.#releaseConnection()
    this.#exchange.abort(false)
  }

  upstreamConnected(): void {}

  upstreamData(bytes: Buffer): void {
    this.#extendDeadline('tunnelIdleMs')
    this.#exchange.bytesOut += bytes.length
    if (!this.#exchange.client.socket.write(Buffer.from(bytes))) this.#connection?.pause()
  }

  upstreamDrained(): void {
    this.#exchange.client.block(false)
  }

  upstreamEnded(): void {
    this.#exchange.client.socket.end()
  }

  upstreamClosed(): void {
    this.#releaseConnection()
    this.#exchange.finish()
  }

  #releaseConnection(): void {
    const connection = this.#connection
    this.#connection = undefined
    connection?.destroy()
    connection?.upstream.finish()
  }

  #extendDeadline(limit: 'tunnelIdleMs' | 'requestIdleMs'): void {
    const { serving } = this.#exchange
    this.#exchange.deadline = serving.now + serving.routing.limits[limit]
  }
}
