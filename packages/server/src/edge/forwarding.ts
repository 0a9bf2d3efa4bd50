import type { Balance } from './balance.ts'
import { ChunkedBody } from './chunked-body.ts'
import type { Answerer, Exchange } from './exchange.ts'
import { faultNotice, type Notice, notices } from './pages.ts'
import { chunked, parseResponseHead, type ResponseHead, untilClose } from './response-head.ts'
import type { Routing } from './routing.ts'
import type { Upstream, UpstreamConnection, UpstreamUser } from './upstream.ts'

type Phase = 'connecting' | 'head' | 'body' | 'tunnel' | 'done'

/** How the upstream's body bytes become the client's. */
type Relay = 'sized' | 'chunks' | 'unchunk' | 'rechunk' | 'raw'

const headEnd = Buffer.from('\r\n\r\n')
const responseHeadAtMost = 65_536
/** A body this small travels in one piece with its head. */
const oneWriteAtMost = 16_384
const backlogAtMost = 65_536
const avoidRefusingMs = 1_000

/** Passes one request to an upstream and its answer back, byte by byte as they come. */
export class Forwarding implements Answerer, UpstreamUser {
  readonly #exchange: Exchange
  readonly #balance: Balance
  readonly #routing: Routing
  readonly #repeatable: boolean
  #phase: Phase = 'connecting'
  #upstream: Upstream | undefined
  #connection: UpstreamConnection | undefined
  #wasReused = false
  #tried: Set<Upstream> | undefined
  #repeated = false
  /** Something of the request was written to the connection in use. */
  #sent = false
  /** Something of an answer came from it. */
  #heard = false
  #requestEnded = false
  #backlog: Buffer[] | undefined
  #backlogBytes = 0
  #input: Buffer | undefined
  #response: ResponseHead | undefined
  #relay: Relay = 'raw'
  #left = 0
  #chunks: ChunkedBody | undefined

  constructor(exchange: Exchange, balance: Balance) {
    this.#exchange = exchange
    this.#balance = balance
    this.#routing = exchange.serving.routing
    const { method, body } = exchange.head
    this.#repeatable = body.kind === 'none' && (method === 'GET' || method === 'HEAD' || method === 'OPTIONS')
  }

  start(): void {
    this.#connect()
  }

  bodyData(bytes: Buffer): void {
    const piece = this.#exchange.head.body.kind === 'chunked' ? asChunk(bytes) : bytes
    if (this.#phase === 'tunnel') this.#touch('tunnelIdleMs')
    if (this.#sent) {
      if (this.#phase === 'head') this.#touch('requestIdleMs')
      if (!this.#connection!.socket.write(piece)) this.#exchange.client.block(true)
      return
    }
    this.#backlog ??= []
    this.#backlog.push(piece)
    this.#backlogBytes += piece.length
    if (this.#backlogBytes > backlogAtMost) this.#exchange.client.block(true)
  }

  bodyEnd(): void {
    this.#requestEnded = true
    if (!this.#sent) return
    if (this.#exchange.head.body.kind === 'chunked') this.#connection!.socket.write('0\r\n\r\n', 'latin1')
    if (this.#phase === 'head') this.#touch('responseHeadMs')
  }

  clientDrained(): void {
    if (this.#phase === 'body') this.#touch('responseIdleMs')
    this.#connection?.resume()
  }

  clientEnded(): void {
    // One that has really gone looks the same: the other half is not kept for hours.
    this.#touch('requestIdleMs')
    this.#connection?.socket.end()
  }

  clientGone(): void {
    this.#letGo(false)
    this.#phase = 'done'
  }

  timedOut(): void {
    if (this.#phase === 'connecting') {
      this.#letGo(false)
      this.#refusedBy(this.#upstream!)
    } else if (this.#phase === 'head' && !this.#requestEnded && this.#connection && !this.#connection.socket.writableNeedDrain)
      this.#fail(faultNotice(408, 'its body did not arrive in time'), false)
    else this.#fail(notices.slow, this.#phase !== 'tunnel')
  }

  upstreamConnected(): void {
    this.#send()
  }

  upstreamDrained(): void {
    if (!this.#exchange.ended) this.#exchange.client.block(false)
  }

  upstreamData(bytes: Buffer): void {
    this.#heard = true
    if (this.#phase === 'head') this.#readHead(this.#input ? Buffer.concat([this.#input, bytes]) : bytes)
    else if (this.#phase === 'body') this.#relayBody(bytes, 0)
    else if (this.#phase === 'tunnel') {
      this.#touch('tunnelIdleMs')
      this.#toClient(Buffer.from(bytes))
    }
  }

  upstreamEnded(): void {
    if (this.#phase === 'tunnel') {
      this.#exchange.client.socket.end()
    } else if (this.#phase === 'body' && this.#response!.body === untilClose) {
      if (this.#relay === 'rechunk') this.#exchange.client.socket.write('0\r\n\r\n', 'latin1')
      this.#complete(false)
    } else {
      this.#letGo(false)
      this.#lost()
    }
  }

  upstreamClosed(): void {
    this.#letGo(false)
    this.#lost()
  }

  #connect(again?: Upstream): void {
    const { serving } = this.#exchange
    const upstream = again ?? this.#balance.choose(this.#tried, serving.now)
    if (!upstream) {
      this.#exhausted()
      return
    }
    this.#phase = 'connecting'
    this.#sent = false
    this.#heard = false
    this.#upstream = upstream
    upstream.begin()
    this.#connection = upstream.acquire(this, serving.now, this.#repeatable, again !== undefined)
    if (this.#connection.connected) this.#send()
    else this.#touch('upstreamConnectMs')
  }

  /** Every copy refused. Where the table has changed meanwhile, a request of which nothing was sent follows the new one. */
  #exhausted(): void {
    const { head, serving } = this.#exchange
    if (serving.routing !== this.#routing && head.body.kind === 'none') {
      this.#phase = 'done'
      this.#exchange.proceed()
    } else this.#fail(notices.unreachable)
  }

  #send(): void {
    const { socket } = this.#connection!
    this.#phase = 'head'
    this.#sent = true
    socket.write(requestText(this.#exchange), 'latin1')
    if (this.#exchange.head.body.kind !== 'none') this.#sendBacklog()
    this.#touch(this.#requestEnded ? 'responseHeadMs' : 'requestIdleMs')
  }

  #sendBacklog(): void {
    const { socket } = this.#connection!
    for (const piece of this.#backlog ?? []) socket.write(piece)
    this.#backlog = undefined
    this.#backlogBytes = 0
    if (this.#requestEnded && this.#exchange.head.body.kind === 'chunked') socket.write('0\r\n\r\n', 'latin1')
    if (!this.#requestEnded) this.#exchange.client.block(socket.writableNeedDrain)
  }

  #readHead(input: Buffer): void {
    const end = input.indexOf(headEnd)
    if (end === -1) {
      this.#input = Buffer.from(input)
      if (input.length > responseHeadAtMost) this.#fail(notices.unreachable)
      return
    }
    this.#input = undefined
    const { head } = this.#exchange
    const response = parseResponseHead(input.toString('latin1', 0, end + 2), head.method)
    if (!response) this.#fail(notices.unreachable)
    else if (response.status === 101) this.#openTunnel(response, input.subarray(end + 4))
    else if (response.status < 200) this.#relayInterim(response, input.subarray(end + 4))
    else this.#beginBody(response, input, end + 4)
  }

  /** 100 Continue, 103 Early Hints: passed on, and the real head is still to come. */
  #relayInterim(response: ResponseHead, rest: Buffer): void {
    const { client, head } = this.#exchange
    if (head.minor === 1) client.socket.write(`HTTP/1.1 ${response.statusLine}\r\n${response.kept}\r\n`, 'latin1')
    if (rest.length > 0) this.#readHead(rest)
  }

  #openTunnel(response: ResponseHead, rest: Buffer): void {
    const exchange = this.#exchange
    if (exchange.head.upgrade === '') {
      this.#fail(notices.unreachable)
      return
    }
    this.#phase = 'tunnel'
    exchange.status = 101
    const upgrade = `connection: Upgrade\r\nupgrade: ${response.upgrade || exchange.head.upgrade}\r\n`
    exchange.client.socket.write(`HTTP/1.1 ${response.statusLine}\r\n${response.kept}${upgrade}\r\n`, 'latin1')
    const early = exchange.client.enterTunnel()
    this.#touch('tunnelIdleMs')
    if (rest.length > 0) this.#toClient(Buffer.from(rest))
    if (early) exchange.bodyData(early)
  }

  #beginBody(response: ResponseHead, input: Buffer, from: number): void {
    const exchange = this.#exchange
    this.#phase = 'body'
    this.#response = response
    this.#relay = relayFor(response, exchange.head.minor)
    this.#left = Math.max(0, response.body)
    if (response.body === chunked) {
      const unchunk = this.#relay === 'unchunk'
      this.#chunks = new ChunkedBody(
        unchunk ? (chunk, start, end) => this.#toClient(Buffer.from(chunk.subarray(start, end))) : undefined,
      )
    }
    exchange.status = response.status
    const kept = response.hasRequestId ? response.kept : `${response.kept}x-request-id: ${exchange.requestId}\r\n`
    const text = exchange.headText(response.statusLine, kept, lengthFor(this.#relay))
    const available = input.length - from
    if (this.#relay === 'sized' && available >= this.#left && this.#left <= oneWriteAtMost) this.#answerAtOnce(text, input, from)
    else {
      exchange.client.socket.write(text, 'latin1')
      this.#touch('responseIdleMs')
      this.#relayBody(input, from)
    }
  }

  /** The usual small answer: head and body in one write. */
  #answerAtOnce(text: string, input: Buffer, from: number): void {
    const exchange = this.#exchange
    const length = this.#left
    if (length === 0) exchange.client.socket.write(text, 'latin1')
    else {
      const whole = Buffer.allocUnsafe(text.length + length)
      whole.write(text, 0, 'latin1')
      input.copy(whole, text.length, from, from + length)
      exchange.bytesOut += length
      exchange.client.socket.write(whole)
    }
    this.#left = 0
    this.#complete(input.length === from + length)
  }

  #relayBody(input: Buffer, from: number): void {
    this.#touch('responseIdleMs')
    if (this.#relay === 'sized') {
      const to = Math.min(input.length, from + this.#left)
      this.#left -= to - from
      if (to > from) this.#toClient(Buffer.from(input.subarray(from, to)))
      if (this.#left === 0) this.#complete(to === input.length)
    } else if (this.#chunks) this.#relayChunks(this.#chunks, input, from)
    else if (from < input.length) {
      const rest = input.subarray(from)
      this.#toClient(this.#relay === 'rechunk' ? asChunk(rest) : Buffer.from(rest), rest.length)
    }
  }

  #relayChunks(chunks: ChunkedBody, input: Buffer, from: number): void {
    const to = chunks.feed(input, from)
    if (to === -1) {
      this.#fail(notices.unreachable)
      return
    }
    if (this.#relay === 'chunks' && to > from) this.#toClient(Buffer.from(input.subarray(from, to)))
    this.#exchange.bytesOut = chunks.bodyBytes
    if (chunks.done) this.#complete(to === input.length)
  }

  /** `bytes` are a copy that may stay. A client that does not take them stops the upstream, not our memory. */
  #toClient(bytes: Buffer, bodyBytes = bytes.length): void {
    const { client } = this.#exchange
    this.#exchange.bytesOut += bodyBytes
    if (!client.socket.write(bytes)) this.#connection?.pause()
  }

  /** `clean`: the upstream said exactly this answer and no more. */
  #complete(clean: boolean): void {
    const requestDone = this.#requestEnded || this.#exchange.head.body.kind === 'none'
    this.#letGo(clean && requestDone && this.#response!.keepAlive && this.#response!.body !== untilClose)
    this.#phase = 'done'
    this.#exchange.finish()
  }

  /** The connection is gone before its time. What was surely not acted on is tried again, the rest is said to have failed. */
  #lost(): void {
    if (this.#phase === 'done') return
    if (this.#phase === 'tunnel') {
      this.#phase = 'done'
      this.#exchange.client.socket.end()
      this.#exchange.finish()
    } else if (!this.#sent) this.#refusedBy(this.#upstream!)
    else if (!this.#heard && this.#wasReused && this.#repeatable && !this.#repeated) {
      this.#repeated = true
      this.#connect(this.#upstream)
    } else this.#fail(notices.unreachable)
  }

  #refusedBy(upstream: Upstream): void {
    this.#tried ??= new Set()
    this.#tried.add(upstream)
    upstream.avoidUntil = this.#exchange.serving.now + avoidRefusingMs
    this.#connect()
  }

  #fail(notice: Notice, failed = true): void {
    this.#letGo(false)
    this.#phase = 'done'
    if (this.#exchange.status === 0) this.#exchange.refuse(notice, failed)
    else this.#exchange.abort(failed)
  }

  #letGo(reusable: boolean): void {
    const connection = this.#connection
    if (!connection) return
    this.#wasReused = connection.reused
    this.#connection = undefined
    const { serving } = this.#exchange
    if (reusable) {
      connection.resume()
      connection.upstream.release(connection, this.#response!.keepAliveMs, serving.now)
    } else connection.destroy()
    connection.upstream.finish()
  }

  #touch(limit: 'upstreamConnectMs' | 'requestIdleMs' | 'responseHeadMs' | 'responseIdleMs' | 'tunnelIdleMs'): void {
    const { serving } = this.#exchange
    this.#exchange.deadline = serving.now + serving.routing.limits[limit]
  }
}

function relayFor(response: ResponseHead, clientMinor: 0 | 1): Relay {
  if (response.body >= 0) return 'sized'
  if (response.body === chunked) return clientMinor === 1 ? 'chunks' : 'unchunk'
  return clientMinor === 1 ? 'rechunk' : 'raw'
}

function lengthFor(relay: Relay): number | 'declared' {
  if (relay === 'chunks' || relay === 'rechunk') return chunked
  // Content-Length, where there is one, is among the lines that were kept.
  return relay === 'sized' ? 'declared' : untilClose
}

function asChunk(bytes: Buffer): Buffer {
  const size = `${bytes.length.toString(16)}\r\n`
  const chunk = Buffer.allocUnsafe(size.length + bytes.length + 2)
  chunk.write(size, 0, 'latin1')
  bytes.copy(chunk, size.length)
  chunk[chunk.length - 2] = 13
  chunk[chunk.length - 1] = 10
  return chunk
}

function requestText(exchange: Exchange): string {
  const { head, client } = exchange
  const trusted = exchange.fromTrustedProxy
  const forwardedFor = trusted && head.forwardedFor ? `${head.forwardedFor}, ${client.peer.text}` : client.peer.text
  const forwardedHost = (trusted && head.forwardedHost) || head.hostHeader
  const framing = head.body.kind === 'chunked' ? 'transfer-encoding: chunked\r\n' : ''
  const upgrade = head.upgrade ? `connection: Upgrade\r\nupgrade: ${head.upgrade}\r\n` : ''
  return `${head.method} ${head.target} HTTP/1.1\r\nhost: ${head.hostHeader}\r\n${head.kept}${trusted ? head.keptIfTrusted : ''}x-forwarded-for: ${forwardedFor}\r\nx-forwarded-proto: ${exchange.protocol}\r\nx-forwarded-host: ${forwardedHost}\r\nx-request-id: ${exchange.requestId}\r\n${framing}${upgrade}\r\n`
}
