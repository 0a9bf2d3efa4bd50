import { clientKey } from '../../platform/address-set.ts'
import { FileAnswer } from '../answer/file-answer.ts'
import { faultNotice, type Notice, notices, reasons, renderNotice } from '../answer/pages.ts'
import type { ExchangeClient, RequestExchange, ResponseHandler } from '../answer/response-handler.ts'
import { dateLine, nextRequestId, type Serving } from '../answer/serving.ts'
import { Forwarding } from '../forward/forwarding.ts'
import type { ClientAddress } from '../limits/client-address.ts'
import { clientAddress } from '../limits/client-address.ts'
import { shareOf } from '../limits/connection-shares.ts'
import type { QueuedRequest } from '../limits/wake-queue.ts'
import type { RequestHead } from '../message/request-head.ts'
import { chunked, untilClose } from '../message/response-head.ts'
import type { ControlTarget } from '../protocol/edge-table.ts'
import { beginRequest, countRequest, endRequest, type RequestCounter } from '../records/request-counters.ts'
import { recordTail } from '../records/request-records.ts'
import { type Deliveries, edgeHeader } from '../routing/deliveries.ts'
import type { Route } from '../routing/routing.ts'
import { type Front, frontNotice, refusalNotice } from './front.ts'

const challengePath = '/.well-known/acme-challenge/'
const queuedBodyBytes = 65_536
const clientDisconnectedStatus = 499
const noTail = recordTail()

/** A request and its response: decides how to handle the request, and records and counts it. */
export class Exchange implements QueuedRequest, RequestExchange {
  readonly client: ExchangeClient
  readonly head: RequestHead
  readonly serving: Serving
  readonly id = nextRequestId()
  readonly queuedBytes: number
  address: ClientAddress
  route: Route | undefined
  /** Status sent to the client; 0 until it is sent. */
  status = 0
  bytesIn = 0
  bytesOut = 0
  deadline = Number.POSITIVE_INFINITY
  hasEnded = false
  ownHeaders = ''
  #handler: ResponseHandler | undefined
  #queuedProjectId: string | undefined
  #queueDeadline = 0
  #hasShare = false
  #counter: RequestCounter | undefined
  #keepAlive = false
  #backlog: Buffer[] | undefined
  #backlogBytes = 0
  #hasBodyEnded = false
  readonly #startedAt = performance.now()
  readonly #front: Front | undefined
  #areRulesChecked: boolean

  constructor(client: ExchangeClient, head: RequestHead, front?: Front) {
    this.client = client
    this.serving = client.serving
    this.head = head
    this.#front = front
    // nginx has checked the rules of a request that it could not forward.
    this.#areRulesChecked = front?.step === 'unreachable'
    this.queuedBytes = head.text.length + (head.body.kind === 'none' ? 0 : queuedBodyBytes)
    this.#hasBodyEnded = head.body.kind === 'none'
    this.address = clientAddress(client.peer, head.forwardedFor, this.serving.routing.trusted)
  }

  get shareClient(): string {
    return clientKey(this.address.key)
  }

  get requestId(): string {
    return this.head.requestId || this.id
  }

  get isFromTrustedProxy(): boolean {
    const { trusted } = this.serving.routing
    return !trusted.isEmpty && trusted.has(this.client.peer.key)
  }

  get protocol(): string {
    if (this.client.isSecure) return 'https'
    return this.head.forwardedProto === 'https' && this.isFromTrustedProxy ? 'https' : 'http'
  }

  /** Routes the request by the current table. A queued request is routed again with every new table. */
  proceed(): void {
    this.#queuedProjectId = undefined
    const { head, serving } = this
    if (head.target.startsWith(challengePath) && this.#answerChallenge()) return
    const { deliveries } = serving.routing
    if (deliveries?.matches(head)) {
      this.#deliver(deliveries)
      return
    }
    const route = serving.routing.find(head.host)
    if (!route) {
      this.refuse(notices.unknownHost)
      return
    }
    this.route = route
    const failure = this.#front && frontNotice(this.#front, head)
    if (failure) {
      if (failure.failed) this.#count(route)
      this.refuse(failure.notice, failure.failed)
      return
    }
    if (route.requestCertificate && serving.httpsPort > 0) serving.certificateRequests.request(head.host, serving.now)
    if (route.redirectToHttps && serving.httpsPort > 0 && this.protocol === 'http') {
      const port = serving.routing.publicHttpsPort || serving.httpsPort
      this.#redirect(`https://${head.host}${port === 443 ? '' : `:${port}`}`)
      return
    }
    if (route.rules && !this.#areRulesChecked && this.#isRefusedByRule(route)) return
    this.#handleTarget(route)
  }

  bodyData(bytes: Buffer): void {
    this.bytesIn += bytes.length
    if (this.#handler) this.#handler.bodyData(bytes)
    else if (!this.hasEnded) this.#bufferBody(bytes)
  }

  bodyEnd(): void {
    this.#hasBodyEnded = true
    this.#handler?.bodyEnd()
  }

  clientDrained(): void {
    this.#handler?.clientDrained()
  }

  clientEnded(): void {
    this.#handler?.clientEnded()
  }

  clientDisconnected(): void {
    if (this.hasEnded) return
    if (this.status === 0) this.status = clientDisconnectedStatus
    const handler = this.#handler
    this.#handler = undefined
    handler?.clientDisconnected()
    this.#close(false)
  }

  /** The framing of the body is invalid. Its end is unknown, so the connection is closed too. */
  rejectMalformed(): void {
    const handler = this.#handler
    this.#handler = undefined
    handler?.clientDisconnected()
    if (this.status === 0) this.refuse(faultNotice(400, 'the request body is malformed'))
    else this.abort(false)
  }

  sweep(now: number): void {
    if (now <= this.deadline) return
    this.deadline = Number.POSITIVE_INFINITY
    if (this.#queuedProjectId !== undefined) this.reject()
    else this.#handler?.timedOut()
  }

  reject(): void {
    this.#leaveQueue()
    this.refuse(notices.notWoken, true)
  }

  /** Passes the request to the handler, with the part of the body received so far. */
  delegate(handler: ResponseHandler): void {
    this.#handler = handler
    handler.start()
    if (this.hasEnded) return
    const backlog = this.#backlog
    this.#backlog = undefined
    if (backlog) for (const bytes of backlog) handler.bodyData(bytes)
    if (this.#hasBodyEnded) handler.bodyEnd()
    else if (backlog) this.client.block(false)
  }

  /** Status line and headers for the client. `length` is the body's size, `chunked`, or `untilClose`. */
  headText(statusLine: string, headerLines: string, length: number | 'omitted'): string {
    const { head } = this
    this.#keepAlive = head.keepAlive && length !== untilClose && this.client.isRequestComplete && !this.serving.isClosing
    const framing =
      length === 'omitted' || length === untilClose
        ? ''
        : length === chunked
          ? 'transfer-encoding: chunked\r\n'
          : `content-length: ${length}\r\n`
    const connection = this.#keepAlive ? (head.minor === 0 ? 'connection: keep-alive\r\n' : '') : 'connection: close\r\n'
    return `HTTP/1.1 ${statusLine}\r\n${headerLines}${framing}${connection}\r\n`
  }

  /** Sends a response of the edge itself. For HEAD the body's length is sent, but not the body. */
  answer(status: number, headerLines: string, body: string | Buffer, failed = false): void {
    if (this.hasEnded) return
    const bytes = typeof body === 'string' ? Buffer.from(body) : body
    const { socket } = this.client
    // Head and body are sent together.
    socket.cork()
    this.beginAnswer(status, headerLines, status === 304 ? 'omitted' : bytes.length)
    if (this.head.method !== 'HEAD' && bytes.length > 0) {
      this.bytesOut += bytes.length
      socket.write(bytes)
    }
    socket.uncork()
    this.finish(failed)
  }

  beginAnswer(status: number, headerLines: string, length: number | 'omitted'): void {
    this.status = status
    const edgeLines = `${dateLine(Date.now())}x-request-id: ${this.requestId}\r\n`
    const text = this.headText(`${status} ${reasons[status] ?? 'Unknown'}`, headerLines + edgeLines, length)
    this.client.socket.write(text, 'latin1')
  }

  refuse(notice: Notice, failed = false): void {
    const { headers, body } = renderNotice(notice, this.head)
    this.answer(notice.status, headers, body, failed)
  }

  /** Ends a complete response. */
  finish(failed = false): void {
    if (this.hasEnded) return
    this.#close(failed)
    this.client.finished(this.#keepAlive)
  }

  /** Ends an incomplete response in a way that the client notices. */
  abort(failed: boolean): void {
    if (this.hasEnded) return
    this.#close(failed)
    this.client.abort()
  }

  /**
   * Forwards a git host's webhook to the control plane, which authorizes it: the project's rules, redirects and sleep do not apply.
   */
  #deliver(deliveries: Deliveries): void {
    this.ownHeaders = deliveries.headersFor(this.address.text, this.protocol)
    if (deliveries.isFull) this.refuse(notices.overloaded)
    else this.delegate(new Forwarding(this, deliveries.balance))
  }

  #handleTarget(route: Route): void {
    const { target } = route
    if (target.kind === 'redirect') this.#redirect(this.#targetOrigin(target.to))
    else if (target.kind === 'control') this.#forwardToControl(route, target)
    else if (target.kind === 'disabled') this.refuse(notices.disabled)
    else if (target.kind === 'paused') this.refuse(notices.paused[target.reason])
    else if (!this.#acquireShare(route)) this.refuse(notices.overloaded)
    else {
      this.#count(route)
      if (target.kind === 'upstreams') this.delegate(new Forwarding(this, route.balance!))
      else if (target.kind === 'static') this.delegate(new FileAnswer(this, target))
      else if (target.kind === 'sleeping') this.#queueUntilAwake(target.projectId, target.holdTimeoutMs ?? 60_000)
      else this.refuse(notices.failed, true)
    }
  }

  /** A session cookie must not travel over plain http, so the dashboard waits for its certificate. */
  #forwardToControl(route: Route, { key }: ControlTarget): void {
    this.ownHeaders = edgeHeader(key, this.address.text, this.protocol)
    if (this.protocol === 'https') this.delegate(new Forwarding(this, route.balance!))
    else this.refuse(notices.certificateMissing)
  }

  #queueUntilAwake(projectId: string, timeoutMs: number): void {
    const { now, wakeQueue, routing, isClosing } = this.serving
    if (isClosing) {
      this.refuse(notices.notWoken, true)
      return
    }
    this.#queueDeadline ||= now + timeoutMs
    if (!wakeQueue.add(this, projectId, this.head.host, routing.limits, now)) {
      this.refuse(notices.tooManyQueued, true)
      return
    }
    this.#queuedProjectId = projectId
    this.deadline = this.#queueDeadline
  }

  #leaveQueue(): void {
    if (this.#queuedProjectId !== undefined) this.serving.wakeQueue.remove(this, this.#queuedProjectId)
    this.#queuedProjectId = undefined
  }

  /** Buffers the body until the request has a handler; above the limit, reading from the client stops. */
  #bufferBody(bytes: Buffer): void {
    this.#backlog ??= []
    this.#backlog.push(bytes)
    this.#backlogBytes += bytes.length
    if (this.#backlogBytes >= queuedBodyBytes / 2) this.client.block(true)
  }

  #isRefusedByRule(route: Route): boolean {
    this.#areRulesChecked = true
    const refusal = route.rules!.evaluate(this.head, this.address.key, Date.now())
    if (!refusal) return false
    this.refuse(refusalNotice(refusal))
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
  #acquireShare(route: Route): boolean {
    if (this.#counter) return true
    const { shares, routing } = this.serving
    const { limits } = routing
    if ((route.projectCounter?.inFlight ?? 0) >= shareOf(limits.connections, limits.projectShare)) return false
    if (this.address === this.client.peer && !this.serving.isBehindNginx) return true
    this.#hasShare = shares.beginRequest(this.address, limits)
    return this.#hasShare
  }

  #count(route: Route): void {
    if (this.#counter || !route.projectCounter) return
    this.#counter = route.projectCounter
    beginRequest(this.#counter, this.serving.now)
  }

  #close(failed: boolean): void {
    this.hasEnded = true
    this.#leaveQueue()
    if (this.#hasShare) this.serving.shares.endRequest(this.address)
    this.#handler = undefined
    this.#backlog = undefined
    const { head, route, serving } = this
    if (this.#counter) {
      endRequest(this.#counter, failed, serving.now)
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
