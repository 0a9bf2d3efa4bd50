import { faultNotice, type Notice, notices } from '../answer/pages.ts'
import type { RequestExchange, ResponseHandler } from '../answer/response-handler.ts'
import { asChunk } from '../message/chunked-body.ts'
import { parseResponseHead, type ResponseHead, untilClose } from '../message/response-head.ts'
import type { Balance } from '../routing/balance.ts'
import type { Routing } from '../routing/routing.ts'
import type { Upstream, UpstreamConnection, UpstreamUser } from '../routing/upstream.ts'
import { BodyRelay, framingFor } from './body-relay.ts'
import { requestText } from './request-text.ts'
import { Tunnel } from './tunnel.ts'

type Phase = 'connecting' | 'head' | 'body' | 'done'

const headEnd = Buffer.from('\r\n\r\n')
const maxResponseHead = 65_536
/** Maximum number and size of interim responses (1xx) to one request. */
const maxInterim = 16
const maxInterimBytes = 65_536
/** A body up to this size is sent in one write with its head. */
const maxWriteBytes = 16_384
const maxBacklog = 65_536
/** An upstream that refused a connection is not chosen for this long while there is another one. */
const avoidMs = 1_000

/** Forwards one request to an upstream and streams its response back. */
export class Forwarding implements ResponseHandler, UpstreamUser {
  readonly #exchange: RequestExchange
  readonly #balance: Balance
  readonly #routing: Routing
  readonly #isRepeatable: boolean
  #phase: Phase = 'connecting'
  #upstream: Upstream | undefined
  #connection: UpstreamConnection | undefined
  #wasReused = false
  #tried: Set<Upstream> | undefined
  #isRetried = false
  /** True once a part of the request was written to the current connection. */
  #isSent = false
  /** True once a part of a response arrived on the current connection. */
  #hasResponseBytes = false
  #hasRequestEnded = false
  #backlog: Buffer[] | undefined
  #backlogBytes = 0
  #input: Buffer | undefined
  #response: ResponseHead | undefined
  #relay: BodyRelay | undefined
  #interims = 0
  #interimBytes = 0

  constructor(exchange: RequestExchange, balance: Balance) {
    this.#exchange = exchange
    this.#balance = balance
    this.#routing = exchange.serving.routing
    const { method, body } = exchange.head
    this.#isRepeatable = body.kind === 'none' && (method === 'GET' || method === 'HEAD' || method === 'OPTIONS')
  }

  start(): void {
    this.#connect()
  }

  bodyData(bytes: Buffer): void {
    const piece = this.#exchange.head.body.kind === 'chunked' ? asChunk(bytes) : bytes
    if (this.#isSent) {
      if (this.#phase === 'head') this.#extendDeadline('requestIdleMs')
      if (!this.#connection!.socket.write(piece)) this.#exchange.client.block(true)
      return
    }
    this.#backlog ??= []
    this.#backlog.push(piece)
    this.#backlogBytes += piece.length
    if (this.#backlogBytes > maxBacklog) this.#exchange.client.block(true)
  }

  bodyEnd(): void {
    this.#hasRequestEnded = true
    if (!this.#isSent) return
    if (this.#exchange.head.body.kind === 'chunked') this.#connection!.socket.write('0\r\n\r\n', 'latin1')
    if (this.#phase === 'head') this.#extendDeadline('responseHeadMs')
  }

  clientDrained(): void {
    if (this.#phase === 'body') this.#extendDeadline('responseIdleMs')
    this.#connection?.resume()
  }

  /** Only a tunnel treats its two directions separately. */
  clientEnded(): void {}

  clientDisconnected(): void {
    this.#releaseConnection(false)
    this.#phase = 'done'
  }

  timedOut(): void {
    if (this.#phase === 'connecting') {
      this.#releaseConnection(false)
      this.#tryOtherUpstream(this.#upstream!)
    } else if (this.#phase === 'head' && !this.#hasRequestEnded && this.#connection && !this.#connection.socket.writableNeedDrain)
      this.#fail(faultNotice(408, 'the request body timed out'), false)
    else this.#fail(notices.slow)
  }

  upstreamConnected(): void {
    this.#send()
  }

  upstreamDrained(): void {
    if (!this.#exchange.hasEnded) this.#exchange.client.block(false)
  }

  upstreamData(bytes: Buffer): void {
    this.#hasResponseBytes = true
    if (this.#phase === 'head') this.#readHead(this.#input ? Buffer.concat([this.#input, bytes]) : bytes)
    else if (this.#phase === 'body') this.#relayBody(this.#relay!, bytes, 0)
  }

  upstreamEnded(): void {
    if (this.#phase === 'body' && this.#relay?.close()) this.#complete(false)
    else {
      this.#releaseConnection(false)
      this.#handleLostConnection()
    }
  }

  upstreamClosed(): void {
    this.#releaseConnection(false)
    this.#handleLostConnection()
  }

  #connect(retryUpstream?: Upstream): void {
    const { serving } = this.#exchange
    const upstream = retryUpstream ?? this.#balance.choose(this.#tried, serving.now)
    if (!upstream) {
      this.#allRefused()
      return
    }
    this.#phase = 'connecting'
    this.#isSent = false
    this.#hasResponseBytes = false
    this.#upstream = upstream
    upstream.begin()
    this.#connection = upstream.acquire(this, serving.now, this.#isRepeatable, retryUpstream !== undefined)
    if (this.#connection.isConnected) this.#send()
    else this.#extendDeadline('upstreamConnectMs')
  }

  /** Every upstream refused. If the table has changed meanwhile, a request without a body is routed again by the new table. */
  #allRefused(): void {
    const { head, serving } = this.#exchange
    if (serving.routing !== this.#routing && head.body.kind === 'none') {
      this.#phase = 'done'
      this.#exchange.proceed()
    } else this.#fail(notices.unreachable)
  }

  #send(): void {
    const { socket } = this.#connection!
    this.#phase = 'head'
    this.#isSent = true
    socket.write(requestText(this.#exchange), 'latin1')
    if (this.#exchange.head.body.kind !== 'none') this.#sendBacklog()
    this.#extendDeadline(this.#hasRequestEnded ? 'responseHeadMs' : 'requestIdleMs')
  }

  #sendBacklog(): void {
    const { socket } = this.#connection!
    for (const piece of this.#backlog ?? []) socket.write(piece)
    this.#backlog = undefined
    this.#backlogBytes = 0
    if (this.#hasRequestEnded && this.#exchange.head.body.kind === 'chunked') socket.write('0\r\n\r\n', 'latin1')
    if (!this.#hasRequestEnded) this.#exchange.client.block(socket.writableNeedDrain)
  }

  #readHead(input: Buffer): void {
    let from = 0
    for (;;) {
      const end = input.indexOf(headEnd, from)
      if (end === -1) {
        this.#input = Buffer.from(input.subarray(from))
        if (this.#input.length > maxResponseHead) this.#fail(notices.unreachable)
        return
      }
      const response = parseResponseHead(input.toString('latin1', from, end + 2), this.#exchange.head.method)
      from = end + 4
      if (response && response.status < 200 && response.status !== 101) {
        if (!this.#relayInterim(response)) return
      } else {
        this.#input = undefined
        this.#answer(response, input, from)
        return
      }
    }
  }

  /** Forwards 100 Continue or 103 Early Hints; the final response is still to come. False if there were too many. */
  #relayInterim(response: ResponseHead): boolean {
    const { client, head } = this.#exchange
    const text = `HTTP/1.1 ${response.statusLine}\r\n${response.forwardedLines}\r\n`
    this.#interims += 1
    this.#interimBytes += text.length
    if (this.#interims > maxInterim || this.#interimBytes > maxInterimBytes) {
      this.#fail(notices.unreachable)
      return false
    }
    if (head.minor === 1 && !client.socket.write(text, 'latin1')) this.#connection?.pause()
    return true
  }

  #answer(response: ResponseHead | undefined, input: Buffer, from: number): void {
    if (!response) this.#fail(notices.unreachable)
    else if (response.status === 101) this.#openTunnel(response, input.subarray(from))
    else this.#beginBody(response, input, from)
  }

  #openTunnel(response: ResponseHead, rest: Buffer): void {
    const exchange = this.#exchange
    const connection = this.#connection
    if (exchange.head.upgrade === '' || !connection) {
      this.#fail(notices.unreachable)
      return
    }
    exchange.status = 101
    const upgrade = `connection: Upgrade\r\nupgrade: ${response.upgrade || exchange.head.upgrade}\r\n`
    exchange.client.socket.write(`HTTP/1.1 ${response.statusLine}\r\n${response.forwardedLines}${upgrade}\r\n`, 'latin1')
    const tunnel = new Tunnel(exchange, connection)
    this.#connection = undefined
    this.#phase = 'done'
    exchange.delegate(tunnel)
    if (rest.length > 0) tunnel.upstreamData(rest)
  }

  #beginBody(response: ResponseHead, input: Buffer, from: number): void {
    const exchange = this.#exchange
    const { minor } = exchange.head
    this.#phase = 'body'
    this.#response = response
    exchange.status = response.status
    const headerLines = response.hasRequestId
      ? response.forwardedLines
      : `${response.forwardedLines}x-request-id: ${exchange.requestId}\r\n`
    const text = exchange.headText(response.statusLine, headerLines, framingFor(response, minor))
    const isBodyComplete = response.body >= 0 && response.body <= maxWriteBytes && input.length - from >= response.body
    if (isBodyComplete) this.#sendSmallResponse(text, input, from, response.body)
    else {
      exchange.client.socket.write(text, 'latin1')
      this.#relay = new BodyRelay(response, minor, (bytes) => this.#toClient(bytes))
      this.#relayBody(this.#relay, input, from)
    }
  }

  /** Sends a small response: head and body in one write. */
  #sendSmallResponse(text: string, input: Buffer, from: number, length: number): void {
    const exchange = this.#exchange
    // Written as a string, which needs no separate buffer. In latin1 each character is one byte.
    exchange.client.socket.write(length === 0 ? text : text + input.toString('latin1', from, from + length), 'latin1')
    exchange.bytesOut += length
    this.#complete(input.length === from + length)
  }

  #relayBody(relay: BodyRelay, input: Buffer, from: number): void {
    this.#extendDeadline('responseIdleMs')
    const to = relay.feed(input, from)
    this.#exchange.bytesOut = relay.bodyBytes
    if (to === -1) this.#fail(notices.unreachable)
    else if (relay.done) this.#complete(to === input.length)
  }

  /** If the client does not read, the upstream is paused instead of buffering in memory. */
  #toClient(bytes: Buffer): void {
    if (!this.#exchange.client.socket.write(bytes)) this.#connection?.pause()
  }

  /** `isClean`: the upstream sent exactly this response and no further bytes. */
  #complete(isClean: boolean): void {
    const isRequestDone = this.#hasRequestEnded || this.#exchange.head.body.kind === 'none'
    this.#releaseConnection(isClean && isRequestDone && this.#response!.keepAlive && this.#response!.body !== untilClose)
    this.#phase = 'done'
    this.#exchange.finish()
  }

  /** The connection was lost too early. A request that the upstream certainly did not process is retried; any other fails. */
  #handleLostConnection(): void {
    if (this.#phase === 'done') return
    if (!this.#isSent) this.#tryOtherUpstream(this.#upstream!)
    else if (!this.#hasResponseBytes && this.#wasReused && this.#isRepeatable && !this.#isRetried) {
      this.#isRetried = true
      this.#connect(this.#upstream)
    } else this.#fail(notices.unreachable)
  }

  #tryOtherUpstream(upstream: Upstream): void {
    this.#tried ??= new Set()
    this.#tried.add(upstream)
    upstream.avoidUntil = this.#exchange.serving.now + avoidMs
    this.#connect()
  }

  #fail(notice: Notice, failed = true): void {
    this.#releaseConnection(false)
    this.#phase = 'done'
    if (this.#exchange.status === 0) this.#exchange.refuse(notice, failed)
    else this.#exchange.abort(failed)
  }

  #releaseConnection(isReusable: boolean): void {
    const connection = this.#connection
    if (!connection) return
    this.#wasReused = connection.isReused
    this.#connection = undefined
    const { serving } = this.#exchange
    if (isReusable) {
      connection.resume()
      connection.upstream.release(connection, this.#response!.keepAliveMs, serving.now)
    } else connection.destroy()
    connection.upstream.finish()
  }

  #extendDeadline(limit: 'upstreamConnectMs' | 'requestIdleMs' | 'responseHeadMs' | 'responseIdleMs'): void {
    const { serving } = this.#exchange
    this.#exchange.deadline = serving.now + serving.routing.limits[limit]
  }
}
