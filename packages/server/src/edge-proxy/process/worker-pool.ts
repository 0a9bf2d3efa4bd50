import { Caller } from '../protocol/calls.ts'
import type { EdgeSettings } from '../protocol/edge-settings.ts'
import type { RequestTotals } from '../protocol/request-record.ts'
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
  | { event: 'limit-changes'; changes: LimitChanges }

interface WorkerProcess {
  child: ReturnType<typeof spawnEdge>
  caller: Caller
  /** True if it missed a piece and needs the whole table. */
  isBehind: boolean
}

const restartAfterMs = 500
const changesIntervalMs = 100
/** Time limit for a worker to accept a piece. A slower worker would serve an old table, so it is replaced. */
const maxApplyMs = 5_000

/** The worker in this process and, if configured, further worker processes on the same listening sockets. */
export class WorkerPool {
  /** The current table, for workers that start later. */
  readonly state: TableState
  readonly #local: EdgeWorker
  readonly #settings: EdgeSettings
  readonly #listening: Listening
  readonly #ticketKeys: Buffer
  readonly #processes = new Set<WorkerProcess>()
  readonly #onEvent: (event: WorkerEvent) => void
  /** Traffic counts of workers that have ended. */
  readonly #lastTraffic: TrafficMinute[] = []
  #isClosing = false
  #changesTimer: NodeJS.Timeout | undefined

  constructor(
    local: EdgeWorker,
    settings: EdgeSettings,
    { state, ticketKeys, listening }: { state: TableState; ticketKeys: Buffer; listening: Listening },
    onEvent: (event: WorkerEvent) => void,
  ) {
    this.#local = local
    this.state = state
    this.#settings = settings
    this.#listening = listening
    this.#ticketKeys = ticketKeys
    this.#onEvent = onEvent
  }

  async start(): Promise<void> {
    if (this.#settings.workers <= 1) return
    this.#local.shareLimits()
    this.#changesTimer = setInterval(() => this.#sendLimitChanges(this.#local.takeChanges(), undefined), changesIntervalMs)
    await Promise.all(Array.from({ length: this.#settings.workers - 1 }, () => this.#startWorker()))
  }

  /**
   * Sends the piece to every worker. After the last piece the table is in effect in all of them; a worker that missed a piece gets
   * the whole table.
   */
  async take(piece: TablePiece): Promise<ApplyResult | undefined> {
    this.state.take(piece)
    const result = this.#local.take(piece)
    await Promise.all([...this.#processes].map((worker) => this.#sendPiece(worker, piece)))
    return result
  }

  async drain(upstreamId: string, timeoutMs: number): Promise<number> {
    const [local, others] = await Promise.all([
      this.#local.drain(upstreamId, timeoutMs),
      this.#requestSiblings<number>('drain', [upstreamId, timeoutMs]),
    ])
    return others.reduce((sum, remaining) => sum + remaining, local)
  }

  async activity(): Promise<Record<string, number>> {
    return mergeCounts(
      [this.#local.activity(), ...(await this.#requestSiblings<Record<string, number>>('activity', []))],
      Math.max,
    )
  }

  async takeHits(): Promise<Record<string, number>> {
    const hits = [this.#local.takeHits(), ...(await this.#requestSiblings<Record<string, number>>('takeHits', []))]
    return mergeCounts(hits, (a, b) => a + b)
  }

  async requestTotals(id: string): Promise<RequestTotals> {
    const all = [this.#local.requestTotals(id), ...(await this.#requestSiblings<RequestTotals>('requestTotals', [id]))]
    return all.reduce((sum, one) => ({ total: sum.total + one.total, failed: sum.failed + one.failed }))
  }

  /** The counts of every worker that have changed since the last call. */
  async takeTraffic(): Promise<TrafficMinute[]> {
    const others = await this.#requestSiblings<TrafficMinute[]>('takeTraffic', [], maxApplyMs)
    return [...this.#local.takeTraffic(), ...others.flat(), ...this.#lastTraffic.splice(0)]
  }

  retry(): void {
    this.#local.retry()
    this.#requestSiblings('retry', []).catch(() => {})
  }

  async close(graceMs: number): Promise<void> {
    this.#isClosing = true
    clearInterval(this.#changesTimer)
    await Promise.all([this.#local.close(graceMs), this.#requestSiblings('close', [graceMs])])
    this.#lastTraffic.push(...(await this.#requestSiblings<TrafficMinute[]>('takeTraffic', [], maxApplyMs)).flat())
    for (const { child } of this.#processes) child.kill('SIGKILL')
  }

  /** A worker that dies during the call is left out of the result. */
  async #requestSiblings<Value>(call: string, args: unknown[], timeoutMs?: number): Promise<Value[]> {
    const timeout = timeoutMs === undefined || this.#processes.size === 0 ? undefined : AbortSignal.timeout(timeoutMs)
    const requested = [...this.#processes].map((worker) => worker.caller.request<Value>(call, args, timeout))
    const settled = await Promise.allSettled(requested)
    return settled.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  }

  async #startWorker(): Promise<void> {
    const { spawnEdge } = await import('../protocol/spawn-edge.ts')
    const child = spawnEdge(this.#settings, 'worker')
    const worker: WorkerProcess = {
      child,
      caller: new Caller((message) => child.connected && child.send(message)),
      isBehind: false,
    }
    child.on('message', (message) => {
      if (!worker.caller.handleReply(message)) this.#onWorkerMessage(worker, message as WorkerEvent)
    })
    child.on('error', () => {})
    child.once('exit', () => {
      this.#processes.delete(worker)
      worker.caller.fail(new Error('the worker exited'))
      if (!this.#isClosing) setTimeout(() => this.#startWorker().catch(() => {}), restartAfterMs)
    })
    const httpsPort = this.#listening.https ? portOf(this.#listening.https) : 0
    await worker.caller.request('prepare', [httpsPort, this.#ticketKeys.toString('base64')])
    // Added before the table is sent, so that a piece that arrives in between reaches it too.
    this.#processes.add(worker)
    await this.#sendWholeTable(worker).catch(async (cause) => {
      await kill(child)
      throw cause
    })
    // Sockets are sent last, when the worker is ready for their connections.
    child.send({ listen: 'http' }, this.#listening.http)
    if (this.#listening.https) child.send({ listen: 'https' }, this.#listening.https)
  }

  async #sendPiece(worker: WorkerProcess, piece: TablePiece): Promise<void> {
    if (!worker.isBehind) {
      await worker.caller.request('take', [piece], AbortSignal.timeout(maxApplyMs)).catch(() => {
        worker.isBehind = true
      })
    }
    if (worker.isBehind && piece.last) await this.#sendWholeTable(worker).catch(() => kill(worker.child))
  }

  async #sendWholeTable(worker: WorkerProcess): Promise<void> {
    worker.isBehind = false
    for (const piece of this.state.pieces()) await worker.caller.request('take', [piece], AbortSignal.timeout(maxApplyMs))
  }

  #onWorkerMessage(from: WorkerProcess, event: WorkerEvent): void {
    if (event.event === 'limit-changes') {
      this.#local.addRemoteCounts(event.changes)
      this.#sendLimitChanges(event.changes, from)
    } else this.#onEvent(event)
  }

  #sendLimitChanges(changes: LimitChanges, except: WorkerProcess | undefined): void {
    if (changes.length === 0) return
    for (const worker of this.#processes)
      if (worker !== except) worker.caller.request('addLimitChanges', [changes]).catch(() => {})
  }
}

async function kill(child: WorkerProcess['child']): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await exited
}

function mergeCounts(records: Record<string, number>[], join: (a: number, b: number) => number): Record<string, number> {
  const sum: Record<string, number> = {}
  for (const record of records)
    for (const [id, value] of Object.entries(record)) sum[id] = id in sum ? join(sum[id]!, value) : value
  return sum
}
