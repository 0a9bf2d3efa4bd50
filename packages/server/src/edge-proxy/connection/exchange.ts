import { clientKey } from '../../platform/address-set.ts'
import { FileAnswer } from '../answer/file-answer.ts'
import { faultNotice, limitedNotice, type Notice, notices, reasons, renderNotice } from '../answer/pages.ts'
import type { ExchangeClient, RequestExchange, ResponseHandler } from '../answer/response-handler.ts'
import { dateLine, nextRequestId, type Serving } from '../answer/serving.ts'
import { Forwarding } from '../forward/forwarding.ts'
import type { ClientAddress } from '../limits/client-address.ts'
import { clientAddress } from '../limits/client-address.ts'
import { shareOf } from '../limits/connection-shares.ts'
import type { Held } from '../limits/wake-queue.ts'
import type { RequestHead } from '../message/request-head.ts'
import type { ControlTarget } from '../protocol/edge-table.ts'
import { beginRequest, countRequest, endRequest, type RequestCounter } from '../records/request-counters.ts'
import { recordTail } from '../records/request-records.ts'
import { type Deliveries, edgeHeader } from '../routing/deliveries.ts'
import type { Route } from '../routing/routing.ts'

const challengePath = '/.well-known/acme-challenge/'
const heldBodyBytes = 65_536
const clientGoneStatus = 499
const noTail = recordTail()

/** A request and its response: decides how to handle the request, and records and counts it. */
export class Exchange implements Held, RequestExchange {
  readonly client: ExchangeClient
  readonly head: RequestHead
  readonly serving: Serving
  readonly id = nextRequestId()
  readonly heldBytes: number
  address: ClientAddress
  route: Route | undefined
  /** Status sent to the client; 0 until it is sent. */
  status = 0
  bytesIn = 0
  bytesOut = 0
  deadline = Number.POSITIVE_INFINITY
  ended = false
  ownHeaders = ''
  #handler: ResponseHandler | undefined
  #heldFor: string | undefined
  #holdUntil = 0
  #validated = false
  #inShare = false
  #counted: RequestCounter | undefined
  #keepAlive = false
  #backlog: Buffer[] | undefined
  #backlogBytes = 0
  #bodyEnded = false
  readonly #startedAt = performance.now()

  constructor(client: ExchangeClient, head: RequestHead) {
    this.client = client
    this.serving = client.serving
    this.head = head
    this.heldBytes = head.text.length + (head.body.kind === 'none' ? 0 : heldBodyBytes)
    this.#bodyEnded = head.body.kind === 'none'
    this.address = clientAddress(client.peer, head.forwardedFor, this.serving.routing.trusted)
  }

  get heldBy(): string {
    return clientKey(this.address.key)
  }

  get requestId(): string {
    return this.head.requestId || this.id
  }

  get fromTrustedProxy(): boolean {
    const { trusted } = this.serving.routing
    return !trusted.isEmpty && trusted.has(this.client.peer.key)
  }

  get protocol(): string {
    if (this.client.secure) return 'https'
    return this.head.forwardedProto === 'https' && this.fromTrustedProxy ? 'https' : 'http'
  }

  /** Looks up the host in the current table. A queued request comes here again with every new table. */
  proceed(): void {
    this.#heldFor = undefined
    const { head, serving } = this
    if (head.target.startsWith(challengePath) && this.#answerChallenge()) return
    const { deliveries } = serving.routing
    if (deliveries?.isOne(head)) {
      this.#deliver(deliveries)
      return
    }
    const route = serving.routing.find(head.host)
    if (!route) {
      this.refuse(notices.unknownHost)
      return
    }
    this.route = route
    if (route.requestCertificate && serving.httpsPort > 0) serving.certificateRequests.request(head.host, serving.now)
    if (route.redirectToHttps && serving.httpsPort > 0 && this.protocol === 'http') {
      const port = serving.routing.publicHttpsPort || serving.httpsPort
      this.#redirect(`https://${head.host}${port === 443 ? '' : `:${port}`}`)
      return
    }
    if (route.rules && !this.#validated && this.#refusedByRule(route)) return
    this.#follow(route)
  }

  bodyData(bytes: Buffer): void {
    this.bytesIn += bytes.length
    if (this.#handler) this.#handler.bodyData(bytes)
    else if (!this.ended) this.#keepForLater(bytes)
  }

  bodyEnd(): void {
    this.#bodyEnded = true
    this.#handler?.bodyEnd()
  }

  clientDrained(): void {
    this.#handler?.clientDrained()
  }

  clientEnded(): void {
    this.#handler?.clientEnded()
  }

  clientGone(): void {
    if (this.ended) return
    if (this.status === 0) this.status = clientGoneStatus
    const handler = this.#handler
    this.#handler = undefined
    handler?.clientGone()
    this.#close(false)
  }

  /** The framing of the body is invalid. Its end is unknown, so the connection is closed too. */
  malformed(): void {
    const handler = this.#handler
    this.#handler = undefined
    handler?.clientGone()
    if (this.status === 0) this.refuse(faultNotice(400, 'the request body is malformed'))
    else this.abort(false)
  }

  sweep(now: number): void {
    if (now <= this.deadline) return
    this.deadline = Number.POSITIVE_INFINITY
    if (this.#heldFor !== undefined) this.giveUp()
    else this.#handler?.timedOut()
  }

  giveUp(): void {
    this.#leaveRoom()
    this.refuse(notices.notWoken, true)
  }

  /** Passes the request to the handler, with the part of the body received so far. */
  delegate(handler: ResponseHandler): void {
    this.#handler = handler
    handler.start()
    if (this.ended) return
    const backlog = this.#backlog
    this.#backlog = undefined
    if (backlog) for (const bytes of backlog) handler.bodyData(bytes)
    if (this.#bodyEnded) handler.bodyEnd()
    else if (backlog) this.client.block(false)
  }

  /**
   * Status line and headers for the client. `length` is the body's size, -1 for chunked, -2 if the body ends with the connection.
   */
  headText(statusLine: string, headerLines: string, length: number | 'unsaid'): string {
    const { head } = this
    this.#keepAlive = head.keepAlive && length !== -2 && this.client.requestComplete && !this.serving.closing
    const framing =
      length === 'unsaid' || length === -2
        ? ''
        : length === -1
          ? 'transfer-encoding: chunked\r\n'
          : `content-length: ${length}\r\n`
    const connection = this.#keepAlive ? (head.minor === 0 ? 'connection: keep-alive\r\n' : '') : 'connection: close\r\n'
    return `HTTP/1.1 ${statusLine}\r\n${headerLines}${framing}${connection}\r\n`
  }

  /** Sends a response that the edge makes itself. For HEAD the body's length is sent, but not the body. */
  answer(status: number, headerLines: string, body: string | Buffer, failed = false): void {
    if (this.ended) return
    const bytes = typeof body === 'string' ? Buffer.from(body) : body
    const { socket } = this.client
    // Head and body are sent together.
    socket.cork()
    this.beginAnswer(status, headerLines, status === 304 ? 'unsaid' : bytes.length)
    if (this.head.method !== 'HEAD' && bytes.length > 0) {
      this.bytesOut += bytes.length
      socket.write(bytes)
    }
    socket.uncork()
    this.finish(failed)
  }

  beginAnswer(status: number, headerLines: string, length: number | 'unsaid'): void {
    this.status = status
    const own = `${dateLine(Date.now())}x-request-id: ${this.requestId}\r\n`
    const text = this.headText(`${status} ${reasons[status] ?? 'Unknown'}`, headerLines + own, length)
    this.client.socket.write(text, 'latin1')
  }

  refuse(notice: Notice, failed = false): void {
    const { headers, body } = renderNotice(notice, this.head)
    this.answer(notice.status, headers, body, failed)
  }

  /** Ends a complete response. */
  finish(failed = false): void {
    if (this.ended) return
    this.#close(failed)
    this.client.finished(this.#keepAlive)
  }

  /** Ends an incomplete response in a way that the client notices. */
  abort(failed: boolean): void {
    if (this.ended) return
    this.#close(failed)
    this.client.abort()
  }

  /**
   * Forwards a git host's webhook to the control plane, which authorizes it: the project's rules, redirects and sleep do not apply.
   */
  #deliver(deliveries: Deliveries): void {
    this.ownHeaders = deliveries.headersFor(this.address.text, this.protocol)
    if (deliveries.isFull) this.refuse(notices.crowded)
    else this.delegate(new Forwarding(this, deliveries.balance))
  }

  #follow(route: Route): void {
    const { target } = route
    if (target.kind === 'redirect') this.#redirect(this.#targetOrigin(target.to))
    else if (target.kind === 'control') this.#forwardToControl(route, target)
    else if (target.kind === 'disabled') this.refuse(notices.disabled)
    else if (target.kind === 'paused') this.refuse(notices.paused[target.reason])
    else if (!this.#takeShare(route)) this.refuse(notices.crowded)
    else {
      this.#count(route)
      if (target.kind === 'upstreams') this.delegate(new Forwarding(this, route.balance!))
      else if (target.kind === 'static') this.delegate(new FileAnswer(this, target))
      else if (target.kind === 'sleeping') this.#hold(target.projectId, target.holdTimeoutMs ?? 60_000)
      else this.refuse(notices.failed, true)
    }
  }

  /** A session cookie must not travel over plain http, so the dashboard waits for its certificate. */
  #forwardToControl(route: Route, { key }: ControlTarget): void {
    this.ownHeaders = edgeHeader(key, this.address.text, this.protocol)
    if (this.protocol === 'https') this.delegate(new Forwarding(this, route.balance!))
    else this.refuse(notices.notSecureYet)
  }

  #hold(projectId: string, timeoutMs: number): void {
    const { now, room, routing, closing } = this.serving
    if (closing) {
      this.refuse(notices.notWoken, true)
      return
    }
    this.#holdUntil ||= now + timeoutMs
    if (!room.enter(this, projectId, this.head.host, routing.limits, now)) {
      this.refuse(notices.tooManyHeld, true)
      return
    }
    this.#heldFor = projectId
    this.deadline = this.#holdUntil
  }

  #leaveRoom(): void {
    if (this.#heldFor !== undefined) this.serving.room.leave(this, this.#heldFor)
    this.#heldFor = undefined
  }

  /** Buffers the body until the request has a handler; above the limit, reading from the client stops. */
  #keepForLater(bytes: Buffer): void {
    this.#backlog ??= []
    this.#backlog.push(bytes)
    this.#backlogBytes += bytes.length
    if (this.#backlogBytes >= heldBodyBytes / 2) this.client.block(true)
  }

  #refusedByRule(route: Route): boolean {
    this.#validated = true
    const refusal = route.rules!.evaluate(this.head, this.address.key, Date.now())
    if (!refusal) return false
    this.refuse(refusal.retryAfterSeconds > 0 ? limitedNotice(refusal.status, refusal.retryAfterSeconds) : notices.forbidden)
    return true
  }

  #answerChallenge(): boolean {
    const answer = this.serving.routing.challenges.get(this.head.target.slice(challengePath.length))
    if (answer === undefined) return false
    this.answer(200, 'content-type: text/plain\r\ncache-control: no-store\r\n', answer)
    return true
  }

  #redirect(origin: string): void {
    this.answer(308, `location: ${origin}${this.head.target}\r\n`, '')
  }

  /** The client's port is kept, unless the target names its own. */
  #targetOrigin(to: string): string {
    const port = /:\d+$/.exec(this.head.hostHeader)?.[0] ?? ''
    return `${this.protocol}://${/:\d+$/.test(to) ? to : to + port}`
  }

  /** False if the project, or a client known only through a trusted proxy, has reached its share of concurrent requests. */
  #takeShare(route: Route): boolean {
    if (this.#counted) return true
    const { shares, routing } = this.serving
    const { limits } = routing
    if ((route.projectCounter?.underWay ?? 0) >= shareOf(limits.connections, limits.projectShare)) return false
    if (this.address === this.client.peer) return true
    this.#inShare = shares.beginRequest(this.address, limits)
    return this.#inShare
  }

  #count(route: Route): void {
    if (this.#counted || !route.projectCounter) return
    this.#counted = route.projectCounter
    beginRequest(this.#counted, this.serving.now)
  }

  #close(failed: boolean): void {
    this.ended = true
    this.#leaveRoom()
    if (this.#inShare) this.serving.shares.endRequest(this.address)
    this.#handler = undefined
    this.#backlog = undefined
    const { head, route, serving } = this
    if (this.#counted) {
      endRequest(this.#counted, failed, serving.now)
      if (route?.deploymentCounter) countRequest(route.deploymentCounter, failed)
    }
    const durationMs = performance.now() - this.#startedAt
    if (route?.traffic) serving.counters.traffic.count(route.traffic, serving.now, this, durationMs)
    serving.records.add({
      id: this.id,
      timeMs: Date.now() - durationMs,
      ip: this.address.text,
      method: head.method,
      host: head.host,
      path: head.target,
      status: this.status,
      durationMs,
      bytesIn: this.bytesIn,
      bytesOut: this.bytesOut,
      userAgent: head.userAgent,
      tail: route?.recordTail ?? noTail,
    })
  }
}
