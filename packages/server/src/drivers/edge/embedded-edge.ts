import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { type EdgeEvent, EdgeExited } from '../../edge-proxy/protocol/calls.ts'
import type { EdgeAddress, EdgeListening } from '../../edge-proxy/protocol/edge-listening.ts'
import type { EdgeFront, EdgeSettings } from '../../edge-proxy/protocol/edge-settings.ts'
import type { EdgeTable } from '../../edge-proxy/protocol/edge-table.ts'
import type { RequestRecord, RequestTotals } from '../../edge-proxy/protocol/request-record.ts'
import type { TrafficMinute } from '../../edge-proxy/protocol/traffic.ts'
import type { EdgeApplied, EdgeDriver } from './edge.ts'
import { defaultGraceMs, EdgeFinder, endEdge, killEdge, pause } from './edge-finder.ts'
import type { EdgeLink } from './edge-link.ts'
import { TableSender } from './table-sender.ts'

export interface EmbeddedEdgeOptions {
  /** Private folder of the edge, inside the data folder. */
  folder: string
  http: EdgeAddress
  https?: EdgeAddress | null
  /** Number of serving processes; default 1. */
  workers?: number
  /** A running edge of another build hands its sockets over to a new one. */
  buildId: string
  /** Entry file of the edge; default: the one next to this code, in the source tree or in the bundle. */
  entry?: string
  program?: string
  flags?: string[]
  /** An edge without a control plane for this long exits; default: never. */
  orphanExitMs?: number | null
  front?: EdgeFront
  /** Ends an edge of another kind that may hold the addresses. */
  endOther?: () => Promise<void>
  onError?: (message: string) => void
}

/** Limits V8's young generation: a larger one only increases memory use. */
const defaultFlags = ['--max-semi-space-size=8']
const retryMs = 20
const recoverAfterMs = 50
const maxRecoveryMs = 2_000
const pingEveryMs = 5_000
const pingTimeoutMs = 10_000

/** Berth's own edge: a separate process that outlives this one. */
export class EmbeddedEdge implements EdgeDriver {
  readonly #settings: EdgeSettings
  readonly #finder: EdgeFinder
  readonly #onError: (text: string) => void
  readonly #endOther: () => Promise<void>
  readonly #requestListeners = new Set<(batch: RequestRecord[], dropped: number) => void>()
  readonly #trafficListeners = new Set<(minutes: TrafficMinute[]) => void>()
  readonly #wakeListeners = new Set<(projectId: string, hostname: string) => void>()
  readonly #certificateListeners = new Set<(hostname: string) => void>()
  readonly #sender = new TableSender()
  #link: EdgeLink | undefined
  #finding: Promise<EdgeLink> | undefined
  #table: EdgeTable | undefined
  #stopped = false
  #pingTimer: NodeJS.Timeout | undefined

  constructor(options: EmbeddedEdgeOptions) {
    this.#settings = {
      folder: options.folder,
      buildId: options.buildId,
      http: options.http,
      https: options.https ?? null,
      workers: options.workers ?? 1,
      orphanExitMs: options.orphanExitMs ?? null,
      program: options.program ?? process.execPath,
      flags: options.flags ?? defaultFlags,
      entry: options.entry ?? ownEntry(),
      ...(options.front && { front: options.front }),
    }
    this.#endOther = options.endOther ?? (async () => {})
    this.#onError = options.onError ?? (() => {})
    this.#finder = new EdgeFinder(this.#settings, {
      onEvent: (event) => this.#dispatch(event),
      onClosed: (link) => {
        if (this.#link === link) this.#onLinkLost()
      },
      onError: this.#onError,
    })
  }

  get isAdopted(): boolean {
    return this.#finder.isAdopted === true
  }

  /** `addresses` replaces the configured ones: nginx has chosen its ports before. */
  async start(addresses: Partial<Pick<EdgeSettings, 'http' | 'https' | 'front'>> = {}): Promise<EdgeListening> {
    this.#stopped = false
    Object.assign(this.#settings, addresses)
    await mkdir(this.#settings.folder, { recursive: true, mode: 0o700 })
    await this.#endOther()
    const { identity } = await this.#connect()
    this.#pingTimer ??= setInterval(() => void this.#ping(), pingEveryMs).unref()
    return identity.listening
  }

  apply(table: EdgeTable, abort?: AbortSignal): Promise<EdgeApplied> {
    this.#table = table
    return this.#withRetries((link) => this.#sender.send(link, () => this.#table!), abort)
  }

  drain(upstreamId: string, timeoutMs: number, abort?: AbortSignal): Promise<{ inFlight: number }> {
    return this.#call('drain', [upstreamId, timeoutMs], abort)
  }

  onRequests(listener: (batch: RequestRecord[], dropped: number) => void): () => void {
    this.#requestListeners.add(listener)
    return () => this.#requestListeners.delete(listener)
  }

  onTraffic(listener: (minutes: TrafficMinute[]) => void): () => void {
    this.#trafficListeners.add(listener)
    return () => this.#trafficListeners.delete(listener)
  }

  onWake(listener: (projectId: string, hostname: string) => void): () => void {
    this.#wakeListeners.add(listener)
    return () => this.#wakeListeners.delete(listener)
  }

  onCertificateWanted(listener: (hostname: string) => void): () => void {
    this.#certificateListeners.add(listener)
    return () => this.#certificateListeners.delete(listener)
  }

  activity(): Promise<Record<string, number>> {
    return this.#call('activity', [])
  }

  ruleHits(): Promise<Record<string, number>> {
    return this.#call('ruleHits', [])
  }

  requestTotals(id: string): Promise<RequestTotals> {
    return this.#call('requestTotals', [id])
  }

  async stop({ keepServing, graceMs = defaultGraceMs }: { keepServing: boolean; graceMs?: number }): Promise<void> {
    this.#stopped = true
    clearInterval(this.#pingTimer)
    this.#pingTimer = undefined
    const known = this.#link ?? (await this.#finding?.catch(() => undefined))
    // An edge whose connection was lost is stopped too.
    const link = known ?? (keepServing ? undefined : await this.#finder.open())
    this.#link = undefined
    if (!keepServing) await this.#endOther()
    if (!link) return
    if (!keepServing) await endEdge(link, graceMs)
    link.close()
  }

  #call<Value>(call: string, args: unknown[], abort?: AbortSignal): Promise<Value> {
    return this.#withRetries((link) => link.call<Value>(call, args, abort), abort)
  }

  /** Retries a call while the edge restarts; all calls are idempotent. */
  async #withRetries<Value>(attempt: (link: EdgeLink) => Promise<Value>, abort?: AbortSignal): Promise<Value> {
    for (;;) {
      abort?.throwIfAborted()
      try {
        const link = await rejectOnAbort(this.#connect(), abort)
        return await rejectOnAbort(attempt(link), abort)
      } catch (cause) {
        if (!(cause instanceof EdgeExited) || this.#stopped) throw cause
        await pause(retryMs)
      }
    }
  }

  #connect(): Promise<EdgeLink> {
    if (this.#link) return Promise.resolve(this.#link)
    if (this.#stopped) return Promise.reject(new EdgeExited('it was stopped'))
    this.#finding ??= this.#finder
      .find()
      .then((link) => this.#useLink(link))
      .finally(() => {
        this.#finding = undefined
      })
    return this.#finding
  }

  /** Sends the last table to an edge that is new or was restarted. */
  async #useLink(link: EdgeLink): Promise<EdgeLink> {
    if (this.#table) await this.#sender.send(link, () => this.#table!)
    // A connection that closed meanwhile was not reported as lost.
    if (!link.isOpen) throw new EdgeExited('it closed the connection immediately')
    this.#link = link
    return link
  }

  #onLinkLost(): void {
    this.#link = undefined
    if (this.#stopped) return
    this.#onError('the connection to the edge was lost')
    void this.#recover()
  }

  async #recover(): Promise<void> {
    for (let waitMs = recoverAfterMs; !this.#stopped && !this.#link; waitMs = Math.min(waitMs * 2, maxRecoveryMs)) {
      await pause(waitMs)
      await this.#connect().catch((cause) => this.#onError(String(cause)))
    }
  }

  /**
   * Kills an edge that does not answer; the lost connection then starts a new one. It is pinged twice, because after a pause of
   * our own process the timeout passes before the first response is read.
   */
  async #ping(): Promise<void> {
    const link = this.#link
    if (!link || (await respondsToPing(link)) || (await respondsToPing(link)) || this.#link !== link || this.#stopped) return
    this.#onError('the edge does not respond and is restarted')
    killEdge(link)
  }

  #dispatch(event: EdgeEvent): void {
    if (event.event === 'requests')
      for (const listener of this.#requestListeners) listener(event.batch as RequestRecord[], event.dropped)
    else if (event.event === 'wake') for (const listener of this.#wakeListeners) listener(event.projectId, event.hostname)
    else if (event.event === 'certificate') for (const listener of this.#certificateListeners) listener(event.hostname)
    else if (event.event === 'traffic') for (const listener of this.#trafficListeners) listener(event.minutes)
  }
}

const respondsToPing = (link: EdgeLink): Promise<boolean> =>
  link.call('ping', [], AbortSignal.timeout(pingTimeoutMs)).then(
    () => true,
    (cause) => cause instanceof EdgeExited,
  )

/** The edge's entry: in the source tree its source; in a bundle `edge.js` next to the main file, above the folder of its chunks. */
function ownEntry(): string {
  const paths = import.meta.url.endsWith('.ts') ? ['../../edge-proxy/main.ts'] : ['./edge.js', '../edge.js']
  const files = paths.map((path) => fileURLToPath(new URL(path, import.meta.url)))
  return files.find((file) => existsSync(file)) ?? files[0]!
}

function rejectOnAbort<Value>(promise: Promise<Value>, abort: AbortSignal | undefined): Promise<Value> {
  if (!abort) return promise
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(abort.reason)
    abort.addEventListener('abort', onAbort, { once: true })
    promise.then(resolve, reject).finally(() => abort.removeEventListener('abort', onAbort))
  })
}
