import { Caller } from '../protocol/calls.ts'
import type { EdgeSettings } from '../protocol/edge-settings.ts'
import type { SwitchCounters } from '../protocol/request-record.ts'
import type { spawnEdge } from '../protocol/spawn-edge.ts'
import type { TablePiece, TableState } from '../protocol/table-pieces.ts'
import type { TrafficMinute } from '../protocol/traffic.ts'
import type { RecordBatch } from '../records/request-records.ts'
import { type Listening, portOf } from './listening.ts'
import type { ApplyResult, EdgeWorker, LimitChanges } from './worker.ts'

/** Events that a worker in another process sends. */
export type WorkerEvent =
  | { event: 'records'; batch: Omit<RecordBatch, 'json'> & { json: string } }
  | { event: 'wake'; projectId: string; hostname: string }
  | { event: 'certificate'; hostname: string }
  | { event: 'news'; news: LimitChanges }

interface WorkerProcess {
  child: ReturnType<typeof spawnEdge>
  caller: Caller
  /** True if it missed a piece and needs the whole table. */
  behind: boolean
}

const restartAfterMs = 500
const changesIntervalMs = 100
/** A worker that has not accepted a piece by then would serve an old table: it is ended and replaced. */
const takeMs = 5_000

/** The worker in this process and, if configured, further worker processes on the same listening sockets. */
export class WorkerPool {
  /** The current table, for workers that start later. */
  readonly state: TableState
  readonly #own: EdgeWorker
  readonly #settings: EdgeSettings
  readonly #listening: Listening
  readonly #processes = new Set<WorkerProcess>()
  readonly #onEvent: (event: WorkerEvent) => void
  /** Traffic counts of workers that have ended. */
  readonly #lastTraffic: TrafficMinute[] = []
  #closing = false
  #changesTimer: NodeJS.Timeout | undefined

  constructor(
    own: EdgeWorker,
    state: TableState,
    settings: EdgeSettings,
    listening: Listening,
    onEvent: (event: WorkerEvent) => void,
  ) {
    this.#own = own
    this.state = state
    this.#settings = settings
    this.#listening = listening
    this.#onEvent = onEvent
  }

  async start(): Promise<void> {
    if (this.#settings.workers <= 1) return
    this.#own.shareLimits()
    this.#changesTimer = setInterval(() => this.#sendLimitChanges(this.#own.takeChanges(), undefined), changesIntervalMs)
    await Promise.all(Array.from({ length: this.#settings.workers - 1 }, () => this.#startWorker()))
  }

  /**
   * Sends the piece to every worker. After the last piece the table is in effect in all of them; a worker that missed a piece gets
   * the whole table.
   */
  async take(piece: TablePiece): Promise<ApplyResult | undefined> {
    this.state.take(piece)
    const result = this.#own.take(piece)
    await Promise.all([...this.#processes].map((worker) => this.#notify(worker, piece)))
    return result
  }

  async drain(upstreamId: string, timeoutMs: number): Promise<number> {
    const [own, others] = await Promise.all([
      this.#own.drain(upstreamId, timeoutMs),
      this.#requestSiblings<number>('drain', [upstreamId, timeoutMs]),
    ])
    return others.reduce((sum, left) => sum + left, own)
  }

  async activity(): Promise<Record<string, number>> {
    return joined([this.#own.activity(), ...(await this.#requestSiblings<Record<string, number>>('activity', []))], Math.max)
  }

  async takeHits(): Promise<Record<string, number>> {
    const hits = [this.#own.takeHits(), ...(await this.#requestSiblings<Record<string, number>>('takeHits', []))]
    return joined(hits, (a, b) => a + b)
  }

  async switchCounters(id: string): Promise<SwitchCounters> {
    const all = [this.#own.switchCounters(id), ...(await this.#requestSiblings<SwitchCounters>('switchCounters', [id]))]
    return all.reduce((sum, one) => ({ total: sum.total + one.total, failed: sum.failed + one.failed }))
  }

  /** The counts of every worker that have changed since the last call. */
  async takeTraffic(): Promise<TrafficMinute[]> {
    const others = await this.#requestSiblings<TrafficMinute[]>('takeTraffic', [], takeMs)
    return [...this.#own.takeTraffic(), ...others.flat(), ...this.#lastTraffic.splice(0)]
  }

  retry(): void {
    this.#own.retry()
    this.#requestSiblings('askAgain', []).catch(() => {})
  }

  async close(graceMs: number): Promise<void> {
    this.#closing = true
    clearInterval(this.#changesTimer)
    await Promise.all([this.#own.close(graceMs), this.#requestSiblings('close', [graceMs])])
    this.#lastTraffic.push(...(await this.#requestSiblings<TrafficMinute[]>('takeTraffic', [], takeMs)).flat())
    for (const { child } of this.#processes) child.kill('SIGKILL')
  }

  /** A worker that dies during the call is left out of the result. */
  async #requestSiblings<Value>(call: string, args: unknown[], timeoutMs?: number): Promise<Value[]> {
    const inTime = timeoutMs === undefined || this.#processes.size === 0 ? undefined : AbortSignal.timeout(timeoutMs)
    const requested = [...this.#processes].map((worker) => worker.caller.request<Value>(call, args, inTime))
    const settled = await Promise.allSettled(requested)
    return settled.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  }

  async #startWorker(): Promise<void> {
    const { spawnEdge } = await import('../protocol/spawn-edge.ts')
    const child = spawnEdge(this.#settings, 'worker')
    const worker: WorkerProcess = {
      child,
      caller: new Caller((message) => child.connected && child.send(message)),
      behind: false,
    }
    child.on('message', (message) => {
      if (!worker.caller.hear(message)) this.#hear(worker, message as WorkerEvent)
    })
    child.on('error', () => {})
    child.once('exit', () => {
      this.#processes.delete(worker)
      worker.caller.fail(new Error('the worker exited'))
      if (!this.#closing) setTimeout(() => this.#startWorker().catch(() => {}), restartAfterMs)
    })
    await worker.caller.request('prepare', [this.#listening.https ? portOf(this.#listening.https) : 0])
    // Added before the table is sent, so that a piece that arrives in between reaches it too.
    this.#processes.add(worker)
    await this.#sendEverything(worker).catch(async (cause) => {
      await endOf(child)
      throw cause
    })
    // Sockets are sent last, when the worker is ready for their connections.
    child.send({ listen: 'http' }, this.#listening.http)
    if (this.#listening.https) child.send({ listen: 'https' }, this.#listening.https)
  }

  async #notify(worker: WorkerProcess, piece: TablePiece): Promise<void> {
    if (!worker.behind) {
      await worker.caller.request('take', [piece], AbortSignal.timeout(takeMs)).catch(() => {
        worker.behind = true
      })
    }
    if (worker.behind && piece.last) await this.#sendEverything(worker).catch(() => endOf(worker.child))
  }

  async #sendEverything(worker: WorkerProcess): Promise<void> {
    worker.behind = false
    for (const piece of this.state.pieces()) await worker.caller.request('take', [piece], AbortSignal.timeout(takeMs))
  }

  #hear(from: WorkerProcess, event: WorkerEvent): void {
    if (event.event === 'news') {
      this.#own.hear(event.news)
      this.#sendLimitChanges(event.news, from)
    } else this.#onEvent(event)
  }

  #sendLimitChanges(changes: LimitChanges, except: WorkerProcess | undefined): void {
    if (changes.length === 0) return
    for (const worker of this.#processes) if (worker !== except) worker.caller.request('hear', [changes]).catch(() => {})
  }
}

async function endOf(child: WorkerProcess['child']): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await ended
}

function joined(records: Record<string, number>[], join: (a: number, b: number) => number): Record<string, number> {
  const sum: Record<string, number> = {}
  for (const record of records)
    for (const [id, value] of Object.entries(record)) sum[id] = id in sum ? join(sum[id]!, value) : value
  return sum
}
