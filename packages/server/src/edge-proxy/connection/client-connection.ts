import type net from 'node:net'
import { faultNotice, reasons, renderNotice } from '../answer/pages.ts'
import { dateLine, type Serving } from '../answer/serving.ts'
import { type ClientAddress, peerAddress } from '../limits/client-address.ts'
import { ChunkedBody } from '../message/chunked-body.ts'
import { HeadFault, parseRequestHead, type RequestHead } from '../message/request-head.ts'
import { owned, type SharedReader } from './accept.ts'
import { Exchange } from './exchange.ts'
import { checkResponse, type Front, isCheck, readFront, unreadableCheck } from './front.ts'

type State = 'head' | 'body' | 'answering' | 'tunnel' | 'lingering' | 'closed'

export interface ConnectionOptions {
  isSecure: boolean
  /** Delivers the socket's bytes; undefined: the socket's own `data` events do. */
  reader?: SharedReader | undefined
  onClosed: (connection: ClientConnection) => void
}

const headEnd = Buffer.from('\r\n\r\n')
/** Maximum unprocessed bytes of a client; above it the socket is not read. */
const maxInput = 65_536
const lingerMs = 2_000
const maxLingerBytes = 4_194_304

/**
 * A client connection: reads requests one after another and passes each to an exchange. Input that arrives during a response
 * (pipelining) waits, so responses keep their order.
 */
export class ClientConnection {
  readonly socket: net.Socket
  readonly serving: Serving
  /** Changes with each request if nginx forwards requests of many clients over one connection. */
  isSecure: boolean
  peer: ClientAddress
  #state: State = 'head'
  #input: Buffer | undefined
  #exchange: Exchange | undefined
  #bodyBytesLeft = 0
  #chunks: ChunkedBody | undefined
  #deadline: number
  #isPumping = false
  #isPaused = false
  #isBlocked = false
  #lingeredBytes = 0
  /** When the last request ended; before the first request, when the connection was opened. */
  quietSince: number
  readonly #onClosed: (connection: ClientConnection) => void

  constructor(socket: net.Socket, serving: Serving, { isSecure, reader, onClosed }: ConnectionOptions) {
    this.socket = socket
    this.serving = serving
    this.isSecure = isSecure
    this.peer = peerAddress(socket.remoteAddress)
    this.#onClosed = onClosed
    this.quietSince = serving.now
    this.#deadline = serving.now + serving.routing.limits.headTimeoutMs
    const onData = (chunk: Buffer) => this.#onData(chunk)
    if (reader) reader.onBytes = onData
    else socket.on('data', onData)
    socket.on('drain', () => this.#onDrain())
    socket.on('end', () => this.#onEnd())
    socket.on('error', ignore)
    socket.on('close', () => this.#onClose())
  }

  /** No request is in progress and no byte of the next one has arrived. */
  get idle(): boolean {
    return this.#state === 'head' && this.#input === undefined
  }

  /** Activity for `ConnectionShares`: 2 while a request is in progress, 0 while it waits for one, otherwise 1. */
  get activityLevel(): 0 | 1 | 2 {
    if (this.#exchange) return 2
    return this.idle && !this.needsDrain ? 0 : 1
  }

  get isRequestComplete(): boolean {
    return this.#state !== 'body'
  }

  get needsDrain(): boolean {
    return this.socket.writableNeedDrain
  }

  /** Stops reading when the exchange cannot accept more of the body, so that TCP flow control slows the client down. */
  block(isBlocked: boolean): void {
    this.#isBlocked = isBlocked
    this.#updateReading()
  }

  /** Called when the response has been completely handed to the socket. */
  finished(keepAlive: boolean): void {
    this.#exchange = undefined
    this.#isBlocked = false
    this.quietSince = this.serving.now
    if (this.#state === 'closed') return
    if (!keepAlive || this.#state !== 'answering') {
      this.#linger()
      return
    }
    this.#state = 'head'
    this.#awaitHead()
    this.#pump()
    this.#updateReading()
  }

  /** Switches to passing bytes through; returns the bytes received early. */
  enterTunnel(): Buffer | undefined {
    this.#state = 'tunnel'
    const early = this.#input
    this.#input = undefined
    this.#updateReading()
    return early
  }

  /** Ends the connection in a way that clients recognise as an aborted response. */
  abort(): void {
    if (this.isSecure || this.serving.isBehindNginx || this.socket.destroyed) this.socket.destroy()
    else this.socket.resetAndDestroy()
  }

  /** Called a few times a second. */
  sweep(now: number): void {
    if (this.#exchange) this.#exchange.sweep(now)
    else if (now > this.#deadline) this.#expire()
  }

  /** Closes an idle connection immediately; others close after their response. */
  closeIfIdle(): void {
    if (this.idle) this.socket.destroy()
  }

  /**
   * Sets the time limit of the wait for the next request. A slow client still receives the last response; it is not idle until
   * then.
   */
  #awaitHead(): void {
    const { limits } = this.serving.routing
    const waitMs = this.needsDrain ? limits.responseIdleMs : this.#input ? limits.headTimeoutMs : limits.keepAliveMs
    this.#deadline = this.serving.now + waitMs
  }

  #expire(): void {
    if (this.#state === 'head' && this.#input) this.#refuse(new HeadFault(408, 'the request headers timed out'))
    else this.socket.destroy()
  }

  #onData(chunk: Buffer): void {
    if (this.#state === 'tunnel') {
      this.#exchange?.bodyData(owned(chunk))
      return
    }
    if (this.#state === 'lingering') {
      this.#lingeredBytes += chunk.length
      if (this.#lingeredBytes > maxLingerBytes) this.socket.destroy()
      return
    }
    // The time limit of a head runs from its first byte and is not extended by later bytes.
    if (this.idle) this.#deadline = this.serving.now + this.serving.routing.limits.headTimeoutMs
    this.#input = this.#input ? Buffer.concat([this.#input, chunk]) : chunk
    this.#pump()
    if (this.#input) this.#input = owned(this.#input)
    this.#updateReading()
  }

  /** Processes as much input as possible; a response that ends synchronously re-enters here, and the outer loop continues. */
  #pump(): void {
    if (this.#isPumping) return
    this.#isPumping = true
    try {
      while (this.#input) {
        if (this.#state === 'head') {
          if (this.needsDrain || !this.#readHead(this.#input)) break
        } else if (this.#state === 'body') this.#readBody(this.#input)
        else break
      }
    } catch (cause) {
      // An error in the edge's own code closes this connection, not the edge.
      console.error(new Date().toISOString(), 'edge: unexpected error, client connection closed:', cause)
      this.socket.destroy()
    }
    this.#isPumping = false
  }

  /** False if more bytes are needed first. */
  #readHead(input: Buffer): boolean {
    let start = 0
    while (input[start] === 13 && input[start + 1] === 10 && start < 8) start += 2
    const end = input.indexOf(headEnd, start)
    const { headBytes } = this.serving.routing.limits
    if ((end === -1 ? input.length : end) - start > headBytes) {
      this.#refuse(new HeadFault(431, 'the request headers are too large'), input)
      return false
    }
    if (end === -1) {
      if (hasBareLineFeed(input, start)) this.#refuse(new HeadFault(400, 'header lines must end with CRLF'), input)
      return false
    }
    this.#input = end + 4 < input.length ? input.subarray(end + 4) : undefined
    const head = parseRequestHead(input.toString('latin1', start, end + 2))
    if (head instanceof HeadFault) {
      this.#refuse(head, input)
      return false
    }
    return this.serving.isBehindNginx ? this.#beginForNginx(head) : this.#begin(head)
  }

  /** False if the connection ends. */
  #beginForNginx(head: RequestHead): boolean {
    const front = readFront(head)
    if (!front || (front.step === 'check' && head.body.kind !== 'none')) {
      this.#refuse(new HeadFault(400, 'it did not come through nginx'))
      return false
    }
    this.isSecure = front.isSecure
    this.peer = front.peer
    if (front.step !== 'check') return this.#begin(head, front)
    this.socket.write(checkResponse(head, front, this.serving), 'latin1')
    this.quietSince = this.serving.now
    this.#awaitHead()
    return true
  }

  #begin(head: RequestHead, front?: Front): true {
    const exchange = new Exchange(this, head, front)
    this.#exchange = exchange
    this.#state = head.body.kind === 'none' ? 'answering' : 'body'
    this.#bodyBytesLeft = head.body.kind === 'sized' ? head.body.length : 0
    this.#chunks = head.body.kind === 'chunked' ? new ChunkedBody((bytes) => this.#exchange?.bodyData(owned(bytes))) : undefined
    exchange.proceed()
    return true
  }

  #readBody(input: Buffer): void {
    let consumed: number
    let isComplete: boolean
    const chunks = this.#chunks
    if (chunks) {
      consumed = chunks.feed(input, 0)
      if (consumed === -1) {
        this.#input = undefined
        this.#exchange?.rejectMalformed()
        return
      }
      isComplete = chunks.done
    } else {
      consumed = Math.min(this.#bodyBytesLeft, input.length)
      this.#bodyBytesLeft -= consumed
      isComplete = this.#bodyBytesLeft === 0
      this.#exchange?.bodyData(owned(consumed === input.length ? input : input.subarray(0, consumed)))
    }
    // Forwarding the bytes may have ended the exchange, and with it the reading.
    if (this.#state !== 'body') return
    this.#input = consumed < input.length ? input.subarray(consumed) : undefined
    if (!isComplete) return
    this.#state = 'answering'
    this.#exchange?.bodyEnd()
  }

  #refuse(fault: HeadFault, input?: Buffer): void {
    if (input && this.serving.isBehindNginx && isCheck(input)) {
      this.socket.write(unreadableCheck, 'latin1')
      this.#linger()
      return
    }
    const { headers, body } = renderNotice(faultNotice(fault.status, fault.reason), undefined)
    const status = `HTTP/1.1 ${fault.status} ${reasons[fault.status] ?? 'Bad Request'}\r\n`
    const framing = `content-length: ${body.length}\r\nconnection: close\r\n\r\n`
    this.socket.write(status + dateLine(Date.now()) + headers + framing + body, 'latin1')
    this.#linger()
  }

  /**
   * Closes the sending side and keeps reading for a moment: closing with unread input would reset the connection before the client
   * has read the response.
   */
  #linger(): void {
    this.#state = 'lingering'
    this.#input = undefined
    this.#chunks = undefined
    this.#deadline = this.serving.now + lingerMs + (this.needsDrain ? this.serving.routing.limits.responseIdleMs : 0)
    this.socket.end()
    this.#updateReading()
  }

  #updateReading(): void {
    const shouldPause = this.#isBlocked || (this.#state !== 'lingering' && (this.#input?.length ?? 0) > maxInput)
    if (shouldPause === this.#isPaused) return
    this.#isPaused = shouldPause
    if (shouldPause) this.socket.pause()
    else this.socket.resume()
  }

  #onDrain(): void {
    if (this.#exchange) this.#exchange.clientDrained()
    else if (this.#state === 'lingering') this.#deadline = this.serving.now + lingerMs
    else {
      this.#awaitHead()
      this.#pump()
      this.#updateReading()
    }
  }

  /**
   * A client that closes its sending side has given up, as in nginx and Node; only a tunnel treats its two directions separately.
   */
  #onEnd(): void {
    if (this.#state === 'tunnel') this.#exchange?.clientEnded()
    else if (this.#state === 'lingering' && this.socket.writableLength > 0) return
    else this.socket.destroy()
  }

  #onClose(): void {
    this.#state = 'closed'
    this.#input = undefined
    const exchange = this.#exchange
    this.#exchange = undefined
    exchange?.clientDisconnected()
    this.#onClosed(this)
  }
}

const ignore = () => {}

function hasBareLineFeed(input: Buffer, start: number): boolean {
  let at = input.indexOf(10, start)
  while (at !== -1) {
    if (input[at - 1] !== 13) return true
    at = input.indexOf(10, at + 1)
  }
  return false
}
