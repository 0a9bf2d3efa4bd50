import type net from 'node:net'
import type { Serving } from '../answer/serving.ts'
import { acceptShared, type SharedReader } from '../connection/accept.ts'
import { Admission, addressPair } from '../connection/admission.ts'
import { ClientConnection, type ConnectionOptions } from '../connection/client-connection.ts'
import { createTlsFront, type TlsFront } from '../connection/tls-front.ts'
import { CertificateRequests } from '../limits/certificate-requests.ts'
import { peerAddress } from '../limits/client-address.ts'
import { ConnectionShares } from '../limits/connection-shares.ts'
import { WakeQueue } from '../limits/wake-queue.ts'
import { findCertificate } from '../protocol/find-certificate.ts'
import type { RequestTotals } from '../protocol/request-record.ts'
import type { TablePiece } from '../protocol/table-pieces.ts'
import type { TrafficMinute } from '../protocol/traffic.ts'
import type { LoggedRequest } from '../records/log-line-record.ts'
import { countRequest, RequestCounters } from '../records/request-counters.ts'
import { type RecordBatch, RequestRecords } from '../records/request-records.ts'
import { Routing } from '../routing/routing.ts'
import type { Upstream } from '../routing/upstream.ts'
import { StaticSites } from '../static/static-sites.ts'

/** Requests that a rate limit allowed in one worker, for the others: rule, client, count. */
export type LimitChanges = [ruleId: string, client: string, count: number][]

export interface ApplyResult {
  version: number
  warnings: string[]
  /** Why an entry could not be applied, by host name. */
  refused: Record<string, string>
}

export interface EdgeWorkerEvents {
  /** A request waits for a sleeping project. */
  onWake(projectId: string, hostname: string): void
  /** A host without a certificate was used. */
  onCertificateWanted(hostname: string): void
}

const sweepMs = 250
/** Idle keep-alive clients have this long to finish a request that they may be sending. */
const idleGraceMs = 1_000

/** Serves requests in one process. */
export class EdgeWorker {
  readonly #serving: Serving
  readonly #connections = new Set<ClientConnection>()
  /** Sockets whose TLS handshake has not finished. */
  readonly #handshakes = new Map<string, Admission>()
  readonly #servers = new Set<net.Server>()
  /** Upstreams that were removed from the table and still have requests in progress. */
  readonly #draining = new Set<Upstream>()
  readonly #sweeper: NodeJS.Timeout
  #draft: Routing | undefined
  #isSharing = false
  #tls: TlsFront | undefined

  constructor({ onWake, onCertificateWanted }: EdgeWorkerEvents, isBehindNginx = false) {
    const counters = new RequestCounters()
    this.#serving = {
      routing: new Routing(null, null, undefined, counters),
      wakeQueue: new WakeQueue(onWake),
      certificateRequests: new CertificateRequests(onCertificateWanted),
      shares: new ConnectionShares(),
      records: new RequestRecords(),
      counters,
      sites: new StaticSites(),
      isBehindNginx,
      httpsPort: 0,
      isClosing: false,
      now: Date.now(),
    }
    this.#sweeper = setInterval(() => this.#sweep(), sweepMs)
  }

  get version(): number {
    return this.#serving.routing.version
  }

  /** The port in redirects to https. */
  set httpsPort(port: number) {
    this.#serving.httpsPort = port
  }

  /**
   * Call before serving a TLS server: the TLS code is loaded only here. Workers with the same keys resume each other's sessions. The
   * keys are never written to disk or to an argument.
   */
  async prepareTls(ticketKeys: Buffer): Promise<void> {
    this.#tls ??= await createTlsFront(ticketKeys, {
      certificates: () => this.#serving.routing.certificates,
      onSecured: (socket) => this.#onHandshakeDone(socket),
      awaitCertificate: (hostname, resume) => this.#awaitCertificate(hostname, resume),
    })
  }

  /** Accepts the connections of a listening server from now on: without a listener they would be lost. */
  serve(server: net.Server, name: 'http' | 'https'): void {
    const tls = this.#tls
    this.#servers.add(server)
    if (name === 'http') acceptShared(server, (socket, reader) => this.#acceptPlain(socket, reader))
    else if (tls) server.on('connection', (socket: net.Socket) => this.#acceptSecure(tls, socket))
    else throw new Error('TLS was not prepared')
  }

  /** Takes a piece of a table. The last piece puts the table into effect for the next request. */
  take(piece: TablePiece): ApplyResult | undefined {
    const { routing, counters } = this.#serving
    if (this.#draft?.token !== piece.token) this.#draft = new Routing(piece.token, piece.base, routing, counters)
    const draft = this.#draft
    if (!draft.take(piece)) return undefined
    this.#draft = undefined
    this.#activateTable(draft)
    return { version: draft.version, warnings: draft.warnings, refused: Object.fromEntries(draft.refused) }
  }

  /** Waits for the requests of an upstream; returns the number of unfinished requests at the time limit. */
  async drain(upstreamId: string, timeoutMs: number): Promise<number> {
    const upstreams = [...this.#draining].filter((upstream) => upstream.id === upstreamId)
    const current = this.#serving.routing.upstreams.get(upstreamId)
    if (current) upstreams.push(current)
    const remaining = await Promise.all(upstreams.map((upstream) => upstream.waitForDrain(timeoutMs)))
    return remaining.reduce((sum, count) => sum + count, 0)
  }

  activity(): Record<string, number> {
    return this.#serving.counters.activity(Date.now())
  }

  takeHits(): Record<string, number> {
    return this.#serving.counters.takeHits()
  }

  requestTotals(id: string): RequestTotals {
    return this.#serving.counters.requestTotals(id)
  }

  takeTraffic(): TrafficMinute[] {
    return this.#serving.counters.traffic.take(Date.now())
  }

  /** Counts and records a request that nginx has served itself. */
  addLogged({ record, projectId, deploymentId, environment }: LoggedRequest): void {
    const { counters, records, now } = this.#serving
    records.add(record)
    const counter = counters.project(projectId)
    countRequest(counter, false)
    counter.lastRequestAt = Math.max(counter.lastRequestAt, record.timeMs + record.durationMs)
    if (deploymentId !== null) countRequest(counters.deployment(deploymentId), false)
    if (environment !== null)
      counters.traffic.count(counters.traffic.counterOf(projectId, environment), now, record, record.durationMs)
  }

  takeRecords(): RecordBatch | undefined {
    return this.#serving.records.take()
  }

  /** A control plane has attached: wake-up calls and counts are sent again. */
  retry(): void {
    this.#serving.counters.traffic.reportAgain()
    this.#serving.wakeQueue.retry(Date.now(), true)
  }

  /** Reports the requests that rate limits allow here to the other workers. */
  shareLimits(): void {
    this.#isSharing = true
    for (const rule of this.#serving.routing.rules.values()) rule.limit?.enableSharing()
  }

  takeChanges(): LimitChanges {
    return [...this.#serving.routing.rules.values()].flatMap((rule) =>
      (rule.limit?.takeChanges() ?? []).map(([client, count]): LimitChanges[number] => [rule.id, client, count]),
    )
  }

  addRemoteCounts(changes: LimitChanges): void {
    const { routing } = this.#serving
    for (const [ruleId, client, count] of changes) routing.rules.get(ruleId)?.limit?.addRemoteCount(client, count, Date.now())
  }

  /** Stops accepting connections, waits for requests in progress, and gives up at the time limit. */
  async close(graceMs: number): Promise<void> {
    this.#serving.isClosing = true
    for (const server of this.#servers) server.close()
    this.#servers.clear()
    this.#serving.wakeQueue.rejectAll()
    const giveUpAt = Date.now() + graceMs
    const idleUntil = Date.now() + Math.min(idleGraceMs, graceMs)
    while (this.#connections.size > 0 && Date.now() < giveUpAt) {
      if (Date.now() >= idleUntil) for (const connection of this.#connections) connection.closeIfIdle()
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    for (const connection of this.#connections) connection.socket.destroy()
    for (const upstream of this.#serving.routing.upstreams.values()) upstream.deactivate()
    clearInterval(this.#sweeper)
  }

  #activateTable(routing: Routing): void {
    const { counters, wakeQueue, sites, certificateRequests } = this.#serving
    const previous = this.#serving.routing
    if (this.#isSharing) for (const rule of routing.rules.values()) rule.limit?.enableSharing()
    this.#serving.routing = routing
    this.#serving.now = Date.now()
    this.#replaceUpstreams(previous, routing)
    counters.keepOnly(routing.ids, previous.ids)
    sites.keepOnly(routing.folders)
    wakeQueue.rerouteAll()
    certificateRequests.resumeReady((hostname) => this.#lacksCertificate(hostname))
  }

  #lacksCertificate(hostname: string): boolean {
    const { routing } = this.#serving
    return routing.find(hostname)?.requestCertificate === true && findCertificate(routing.certificates, hostname) === undefined
  }

  /** False if no certificate is to be expected. */
  #awaitCertificate(hostname: string, resume: () => void): boolean {
    const { certificateRequests, isClosing } = this.#serving
    if (isClosing || !this.#lacksCertificate(hostname)) return false
    return certificateRequests.queue(hostname, Date.now(), resume)
  }

  #acceptPlain(socket: net.Socket, reader: SharedReader | undefined): void {
    const admission = this.#admit(socket)
    if (admission) this.#openConnection(socket, admission, { isSecure: false, reader })
  }

  #acceptSecure(tls: TlsFront, socket: net.Socket): void {
    const admission = this.#admit(socket)
    if (admission) this.#startHandshake(tls, socket, admission)
  }

  /** Undefined if the client, or the edge, has as many connections as it may have. */
  #admit(socket: net.Socket): Admission | undefined {
    const { shares, routing, now, isBehindNginx } = this.#serving
    const { trusted, limits } = routing
    const peer = peerAddress(socket.remoteAddress)
    const admission = new Admission(socket, now)
    // A proxy represents many clients.
    const isProxy = isBehindNginx || (!trusted.isEmpty && trusted.has(peer.key))
    if (!shares.admit(admission, peer, isProxy, limits, now)) {
      socket.destroy()
      return undefined
    }
    socket.on('close', () => shares.remove(admission))
    socket.setNoDelay(true)
    return admission
  }

  #startHandshake(tls: TlsFront, socket: net.Socket, admission: Admission): void {
    const addresses = addressPair(socket)
    this.#handshakes.set(addresses, admission)
    socket.on('close', () => {
      if (this.#handshakes.get(addresses) === admission) this.#handshakes.delete(addresses)
    })
    tls.startHandshake(socket)
  }

  #onHandshakeDone(socket: net.Socket): void {
    const addresses = addressPair(socket)
    const admission = this.#handshakes.get(addresses)
    this.#handshakes.delete(addresses)
    // The client disconnected during the handshake, and its admission was removed.
    if (admission) this.#openConnection(socket, admission, { isSecure: true })
    else socket.destroy()
  }

  #openConnection(socket: net.Socket, admission: Admission, kind: Pick<ConnectionOptions, 'isSecure' | 'reader'>): void {
    // Set only after the TLS handshake: a client that closes during the handshake has disconnected.
    socket.allowHalfOpen = true
    const onClosed = (closed: ClientConnection) => this.#connections.delete(closed)
    const connection = new ClientConnection(socket, this.#serving, { ...kind, onClosed })
    this.#connections.add(connection)
    admission.connection = connection
  }

  #replaceUpstreams(previous: Routing, routing: Routing): void {
    const currentUpstreams = new Set(routing.upstreams.values())
    for (const upstream of currentUpstreams) {
      this.#draining.delete(upstream)
      upstream.activate()
    }
    for (const upstream of previous.upstreams.values()) {
      if (currentUpstreams.has(upstream)) continue
      upstream.deactivate()
      if (upstream.inFlight > 0) this.#draining.add(upstream)
    }
  }

  #sweep(): void {
    const now = Date.now()
    this.#serving.now = now
    for (const connection of this.#connections) connection.sweep(now)
    for (const upstream of this.#serving.routing.upstreams.values()) upstream.sweep(now)
    for (const upstream of this.#draining) if (upstream.inFlight === 0) this.#draining.delete(upstream)
    this.#serving.wakeQueue.retry(now)
    this.#serving.certificateRequests.sweep(now)
  }
}
