import { existsSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { type EdgeEvent, EdgeGone } from './calls.ts'
import type { EdgeAddress, EdgeDriver, EdgeListening, RequestRecord, SwitchCounters } from './edge.ts'
import { type EdgeLink, openEdgeLink } from './edge-link.ts'
import { anotherEdgeRuns, type EdgeSettings, edgeFiles } from './edge-settings.ts'
import type { EdgeTable } from './edge-table.ts'
import { spawnEdge } from './spawn-edge.ts'
import { TableSender } from './table-sender.ts'

export interface EmbeddedEdgeOptions {
  /** Private folder of the edge, inside the data folder. */
  folder: string
  http: EdgeAddress
  https?: EdgeAddress | null
  /** Processes that serve; default 1. */
  workers?: number
  /** A running edge of another build hands its sockets over to a new one. */
  buildId: string
  /** Entry file of the edge; default: the one beside this code, in the source tree or in the bundle. */
  entry?: string
  program?: string
  flags?: string[]
  /** An edge that no control plane has used for so long ends by itself; default never. */
  orphanExitMs?: number | null
  onTrouble?: (words: string) => void
}

/** Bounds the space for short-lived objects: a larger one only makes the process larger. */
const defaultFlags = ['--max-semi-space-size=8']
const startMs = 15_000
const lookAgainMs = 20
const recoverAfterMs = 50
const recoverAtMostMs = 2_000
const pingEveryMs = 5_000
const pingMs = 10_000
const defaultGraceMs = 5_000
const reapMs = 1_000

/** The edge that is part of this product: a process of its own that outlives this one. */
export class EmbeddedEdge implements EdgeDriver {
  readonly #settings: EdgeSettings
  readonly #socketPath: string
  readonly #onTrouble: (words: string) => void
  readonly #requestListeners = new Set<(batch: RequestRecord[], dropped: number) => void>()
  readonly #wakeListeners = new Set<(projectId: string, hostname: string) => void>()
  readonly #sender = new TableSender()
  #link: EdgeLink | undefined
  #finding: Promise<EdgeLink> | undefined
  #table: EdgeTable | undefined
  #stopped = false
  #watch: NodeJS.Timeout | undefined

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
    }
    this.#socketPath = edgeFiles(options.folder).socket
    this.#onTrouble = options.onTrouble ?? (() => {})
  }

  async start(): Promise<EdgeListening> {
    this.#stopped = false
    await mkdir(this.#settings.folder, { recursive: true, mode: 0o700 })
    const { identity } = await this.#linked()
    this.#watch ??= setInterval(() => void this.#ping(), pingEveryMs).unref()
    return identity.listening
  }

  apply(table: EdgeTable, abort?: AbortSignal): Promise<{ version: number; warnings: string[] }> {
    this.#table = table
    return this.#retried((link) => this.#sender.send(link, () => this.#table!), abort)
  }

  drain(upstreamId: string, timeoutMs: number, abort?: AbortSignal): Promise<{ inFlight: number }> {
    return this.#ask('drain', [upstreamId, timeoutMs], abort)
  }

  onRequests(listener: (batch: RequestRecord[], dropped: number) => void): () => void {
    this.#requestListeners.add(listener)
    return () => this.#requestListeners.delete(listener)
  }

  onWake(listener: (projectId: string, hostname: string) => void): () => void {
    this.#wakeListeners.add(listener)
    return () => this.#wakeListeners.delete(listener)
  }

  activity(): Promise<Record<string, number>> {
    return this.#ask('activity', [])
  }

  ruleHits(): Promise<Record<string, number>> {
    return this.#ask('ruleHits', [])
  }

  switchCounters(id: string): Promise<SwitchCounters> {
    return this.#ask('switchCounters', [id])
  }

  async stop({ keepServing, graceMs = defaultGraceMs }: { keepServing: boolean; graceMs?: number }): Promise<void> {
    this.#stopped = true
    clearInterval(this.#watch)
    this.#watch = undefined
    const known = this.#link ?? (await this.#finding?.catch(() => undefined))
    // One that we lost sight of is ended all the same.
    const link = known ?? (keepServing ? undefined : await this.#open())
    this.#link = undefined
    if (!link) return
    if (!keepServing) await this.#end(link, graceMs)
    link.close()
  }

  #ask<Value>(call: string, args: unknown[], abort?: AbortSignal): Promise<Value> {
    return this.#retried((link) => link.ask<Value>(call, args, abort), abort)
  }

  /** Waits out a restart of the edge: everything may be asked twice without harm. */
  async #retried<Value>(attempt: (link: EdgeLink) => Promise<Value>, abort?: AbortSignal): Promise<Value> {
    for (;;) {
      abort?.throwIfAborted()
      try {
        const link = await unlessAborted(this.#linked(), abort)
        return await unlessAborted(attempt(link), abort)
      } catch (cause) {
        if (!(cause instanceof EdgeGone) || this.#stopped) throw cause
        await pause(lookAgainMs)
      }
    }
  }

  #linked(): Promise<EdgeLink> {
    if (this.#link) return Promise.resolve(this.#link)
    if (this.#stopped) return Promise.reject(new EdgeGone('it was stopped'))
    this.#finding ??= this.#find().finally(() => {
      this.#finding = undefined
    })
    return this.#finding
  }

  /** The edge that runs, if it is the right one; else one that takes over from it, else a new one. */
  async #find(): Promise<EdgeLink> {
    const running = await this.#open()
    if (!running) return this.#keep(await this.#spawn())
    if (sameEdge(running.identity.settings, this.#settings)) return this.#keep(running)
    if (sameSockets(running.identity.settings, this.#settings)) {
      try {
        // The old connection stays open: it still brings the records of requests that end there.
        await running.ask('handOver', [this.#settings])
        return this.#keep(await this.#untilOpen(() => undefined))
      } catch (cause) {
        this.#onTrouble(`the running edge did not hand over, it is restarted: ${String(cause)}`)
      }
    }
    await this.#end(running, defaultGraceMs)
    return this.#keep(await this.#spawn())
  }

  #open(): Promise<EdgeLink | undefined> {
    let opened: EdgeLink | undefined
    const opening = openEdgeLink(this.#socketPath, {
      onEvent: (event) => this.#hear(event),
      onClosed: () => {
        if (opened && this.#link === opened) this.#lose()
      },
    })
    return opening.then((link) => {
      opened = link
      return link
    })
  }

  async #spawn(): Promise<EdgeLink> {
    const child = spawnEdge(this.#settings, 'first')
    let ended: string | undefined
    child.once('error', (error) => {
      ended = error.message
    })
    child.once('exit', (code, signal) => {
      // Somebody else has just started one: that one will answer.
      if (code !== anotherEdgeRuns) ended ??= `it ended with ${signal ?? code}`
    })
    return this.#untilOpen(() => ended)
  }

  async #untilOpen(ended: () => string | undefined): Promise<EdgeLink> {
    const giveUpAt = Date.now() + startMs
    for (;;) {
      const link = await this.#open()
      if (link) return link
      const reason = ended() ?? (Date.now() > giveUpAt ? 'it did not answer in time' : undefined)
      if (reason) throw new Error(`the edge could not be started: ${reason}${await this.#lastWords()}`)
      await pause(lookAgainMs)
    }
  }

  async #lastWords(): Promise<string> {
    const log = await readFile(edgeFiles(this.#settings.folder).log, 'utf8').catch(() => '')
    const words = log.trim().split('\n').at(-1)
    return words ? ` (${words.slice(0, 500)})` : ''
  }

  /** Brings an edge that is new, or that restarted, to the table the control plane last asked for. */
  async #keep(link: EdgeLink): Promise<EdgeLink> {
    if (this.#table) await this.#sender.send(link, () => this.#table!)
    // Whoever closed in the meantime has said so to nobody.
    if (!link.isOpen) throw new EdgeGone('it went away at once')
    this.#link = link
    return link
  }

  #lose(): void {
    this.#link = undefined
    if (this.#stopped) return
    this.#onTrouble('the connection to the edge was lost')
    void this.#recover()
  }

  async #recover(): Promise<void> {
    for (let waitMs = recoverAfterMs; !this.#stopped && !this.#link; waitMs = Math.min(waitMs * 2, recoverAtMostMs)) {
      await pause(waitMs)
      await this.#linked().catch((cause) => this.#onTrouble(String(cause)))
    }
  }

  /** An edge that is there but does not answer serves nobody: it is ended, and the loss brings a new one. */
  async #ping(): Promise<void> {
    const link = this.#link
    if (!link) return
    await link.ask('ping', [], AbortSignal.timeout(pingMs)).catch((cause) => {
      if (cause instanceof EdgeGone || this.#link !== link || this.#stopped) return
      this.#onTrouble('the edge does not answer and is restarted')
      kill(link.identity.pid, 'SIGKILL')
    })
  }

  /** The end of the connection is the end of the process; asking after the pid alone would be fooled by one nobody reaped. */
  async #end(link: EdgeLink, graceMs: number): Promise<void> {
    link.ask('stop', [graceMs]).catch(() => {})
    const inTime = await Promise.race([link.closed.then(() => true), unheldPause(graceMs + 2_000).then(() => false)])
    if (!inTime) kill(link.identity.pid, 'SIGKILL')
    const giveUpAt = Date.now() + reapMs
    while (kill(link.identity.pid, 0) && Date.now() < giveUpAt) await pause(lookAgainMs)
  }

  #hear(event: EdgeEvent): void {
    if (event.event === 'requests')
      for (const listener of this.#requestListeners) listener(event.batch as RequestRecord[], event.dropped)
    else if (event.event === 'wake') for (const listener of this.#wakeListeners) listener(event.projectId, event.hostname)
  }
}

/** Source runs from source; in a bundle the entry is `edge.js` beside the main one, above the folder of its chunks. */
function ownEntry(): string {
  const places = import.meta.url.endsWith('.ts') ? ['../../edge/main.ts'] : ['./edge.js', '../edge.js']
  const files = places.map((place) => fileURLToPath(new URL(place, import.meta.url)))
  return files.find((file) => existsSync(file)) ?? files[0]!
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
/** Does not keep this process from ending. */
const unheldPause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms).unref())

/** False when there is no such process. */
function kill(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}

function sameSockets(a: EdgeSettings, b: EdgeSettings): boolean {
  return JSON.stringify([a.http, a.https]) === JSON.stringify([b.http, b.https])
}

function sameEdge(a: EdgeSettings, b: EdgeSettings): boolean {
  return sameSockets(a, b) && a.buildId === b.buildId && a.workers === b.workers
}

function unlessAborted<Value>(promise: Promise<Value>, abort: AbortSignal | undefined): Promise<Value> {
  if (!abort) return promise
  return new Promise((resolve, reject) => {
    const give = () => reject(abort.reason)
    abort.addEventListener('abort', give, { once: true })
    promise.then(resolve, reject).finally(() => abort.removeEventListener('abort', give))
  })
}
