import { randomBytes } from 'node:crypto'
import { mkdir, stat, truncate } from 'node:fs/promises'
import { type EdgeIdentity, type EdgeSettings, edgeFiles } from '../protocol/edge-settings.ts'
import type { TablePiece } from '../protocol/table-pieces.ts'
import { loggedRequest } from '../records/log-line-record.ts'
import { RecordBuffer } from '../records/record-buffer.ts'
import { TableFile } from '../routing/table-file.ts'
import { ControlServer } from './control-server.ts'
import { lockFolder, ownsFolder } from './folder-lock.ts'
import { FrontSide } from './front-side.ts'
import { type Listening, listen, listeningOf, portOf } from './listening.ts'
import { announceServing, handOver, takeOver, waitForTurn } from './socket-handoff.ts'
import { type ApplyResult, EdgeWorker } from './worker.ts'
import { type WorkerEvent, WorkerPool } from './worker-pool.ts'

const ticketKeyBytes = 48
const flushEveryMs = 50
const folderCheckMs = 3_000
const trafficEveryMs = 3_000
const graceOnSignalMs = 8_000
const graceOnHandOverMs = 30_000
const maxLogBytes = 1_048_576
const maxUnreadBytes = 4_194_304

/** The main process of an edge: serves requests itself, manages further workers, and answers the control plane. */
export class EdgeProcess {
  readonly #settings: EdgeSettings
  readonly #file: TableFile
  readonly #recordBuffer = new RecordBuffer()
  /** Keys of session tickets, shared by all workers. */
  readonly #ticketKeys = randomBytes(ticketKeyBytes)
  readonly #startedAt = new Date().toISOString()
  readonly #worker: EdgeWorker
  readonly #control: ControlServer
  readonly #front: FrontSide | undefined
  #pool!: WorkerPool
  #listening!: Listening
  #unlock: () => Promise<void> = async () => {}
  #stopping = false
  /** Received pieces of the change in progress. */
  #pendingPieces: TablePiece[] = []

  constructor(settings: EdgeSettings) {
    const files = edgeFiles(settings.folder)
    this.#settings = settings
    this.#file = new TableFile(files.table)
    const { front } = settings
    this.#worker = new EdgeWorker(
      {
        onWake: (projectId, hostname) => this.#onWorkerEvent({ event: 'wake', projectId, hostname }),
        onCertificateWanted: (hostname) => this.#onWorkerEvent({ event: 'certificate', hostname }),
      },
      front !== undefined,
    )
    this.#front =
      front &&
      new FrontSide(front, (line) => {
        const request = loggedRequest(line)
        if (request) this.#worker.addLogged(request)
      })
    this.#control = new ControlServer(files.socket, this.#calls(), () => this.#pool.retry())
  }

  /** Resolves when it serves the last known table. A successor gets the listening sockets of the running edge. */
  async start(role: 'first' | 'successor'): Promise<void> {
    const { folder, https } = this.#settings
    await mkdir(folder, { recursive: true, mode: 0o700 })
    if (role === 'first') {
      this.#unlock = await lockFolder(folder, false)
      await truncateLog(edgeFiles(folder).log)
    }
    const state = await this.#file.read()
    if (state.token !== null) for (const piece of state.pieces()) this.#worker.take(piece)
    if (https && !this.#front) await this.#worker.prepareTls(this.#ticketKeys)
    this.#listening = await this.#listen(role)
    this.#worker.httpsPort = this.#front ? (https?.port ?? 0) : portOf(this.#listening.https)
    const shared = { state, ticketKeys: this.#ticketKeys, listening: this.#listening }
    this.#pool = new WorkerPool(this.#worker, this.#settings, shared, (event) => this.#onWorkerEvent(event))
    await this.#pool.start()
    await this.#control.start()
    if (role === 'successor') {
      this.#unlock = await lockFolder(folder, true)
      announceServing()
    }
    this.#startTimers()
  }

  async #listen(role: 'first' | 'successor'): Promise<Listening> {
    const serve: EdgeWorker['serve'] = (server, name) => this.#worker.serve(server, name)
    if (!this.#front) return role === 'first' ? listen(this.#settings, serve) : takeOver(this.#settings.https !== null, serve)
    if (role === 'successor') await waitForTurn()
    const http = await this.#front.listen((server) => serve(server, 'http'))
    this.#front.startReading()
    return { http, https: undefined }
  }

  #startTimers(): void {
    setInterval(() => this.#tick(), flushEveryMs)
    setInterval(() => void this.#stopIfFolderLost(), folderCheckMs)
    setInterval(() => void this.#reportTraffic(), trafficEveryMs)
    process.on('SIGTERM', () => void this.#stop(graceOnSignalMs))
    process.on('SIGINT', () => void this.#stop(graceOnSignalMs))
    process.on('SIGHUP', () => {})
  }

  #calls() {
    return {
      attach: () => this.#identity(),
      ping: () => true,
      take: (piece: TablePiece) => this.#apply(piece),
      drain: async (upstreamId: string, timeoutMs: number) => ({ inFlight: await this.#pool.drain(upstreamId, timeoutMs) }),
      activity: () => this.#pool.activity(),
      ruleHits: () => this.#pool.takeHits(),
      requestTotals: (id: string) => this.#pool.requestTotals(id),
      handOver: (successor: EdgeSettings) => this.#handOver(successor),
      stop: (graceMs: number) => this.#stop(graceMs),
    }
  }

  #identity(): EdgeIdentity {
    return {
      pid: process.pid,
      buildId: this.#settings.buildId,
      startedAt: this.#startedAt,
      version: this.#worker.version,
      token: this.#pool.state.token,
      listening: listeningOf(this.#listening, this.#settings),
      settings: this.#settings,
    }
  }

  /** Applies the table before it is stored: if the disk is full, the new table is still served. */
  async #apply(piece: TablePiece): Promise<ApplyResult | null> {
    if (this.#stopping) throw new Error('this edge is stopping')
    if (this.#pendingPieces[0]?.token !== piece.token) this.#pendingPieces = []
    this.#pendingPieces.push(piece)
    const result = await this.#pool.take(piece)
    if (!result) return null
    const pieces = this.#pendingPieces.splice(0)
    try {
      await this.#file.add(pieces, () => this.#pool.state.pieces())
      return result
    } catch (cause) {
      return { ...result, warnings: [...result.warnings, `the routing table could not be saved to disk: ${String(cause)}`] }
    }
  }

  async #handOver(successor: EdgeSettings): Promise<{ pid: number }> {
    if (this.#stopping) throw new Error('this edge is stopping')
    this.#stopping = true
    try {
      const pid = await handOver(successor, this.#listening, async () => {
        await this.#front?.stopReading()
        await this.#control.release()
      })
      // The lock and the path of the socket belong to the successor now.
      void this.#closeAndExit(graceOnHandOverMs)
      return { pid }
    } catch (cause) {
      this.#stopping = false
      this.#front?.startReading()
      await this.#control.start()
      throw cause
    }
  }

  async #stop(graceMs: number): Promise<void> {
    if (this.#stopping) return
    this.#stopping = true
    // The addresses are released immediately, while requests in progress continue: another edge may start meanwhile.
    const closed = this.#closeAndExit(graceMs)
    await this.#control.release()
    await this.#unlock()
    await closed
  }

  async #closeAndExit(graceMs: number): Promise<void> {
    await this.#pool.close(graceMs)
    await this.#front?.stopReading()
    await this.#reportTraffic()
    this.#tick()
    // Time to send the last records and the response to the caller.
    setTimeout(() => process.exit(0), 100)
  }

  #onWorkerEvent(event: WorkerEvent): void {
    if (event.event === 'records') this.#recordBuffer.add({ ...event.batch, json: Buffer.from(event.batch.json) })
    else if (event.event === 'wake' || event.event === 'certificate') this.#report(event)
  }

  /** Drops the event if the control plane does not read: waiting requests repeat it. */
  #report(event: WorkerEvent): void {
    const { connection } = this.#control
    if (connection && connection.waitingBytes < maxUnreadBytes) connection.send(event)
  }

  async #stopIfFolderLost(): Promise<void> {
    if (this.#stopping || (await ownsFolder(this.#settings.folder))) return
    this.#front?.signal('SIGQUIT')
    await this.#stop(graceOnSignalMs)
  }

  /** Sends nothing without a control plane: the counts stay in the workers. */
  async #reportTraffic(): Promise<void> {
    const { connection } = this.#control
    if (!connection || connection.waitingBytes > maxUnreadBytes) return
    const minutes = await this.#pool.takeTraffic()
    if (minutes.length > 0) connection.send({ event: 'traffic', minutes })
  }

  /** Sends the request records. Without a control plane, stops an edge that has an `orphanExitMs`. */
  #tick(): void {
    const { connection } = this.#control
    const { orphanExitMs } = this.#settings
    if (!connection) {
      if (orphanExitMs === null || Date.now() - this.#control.detachedSince <= orphanExitMs || this.#stopping) return
      this.#front?.signal('SIGQUIT')
      void this.#stop(0)
      return
    }
    while (this.#recordBuffer.hasSpace) {
      const batch = this.#worker.takeRecords()
      if (!batch) break
      this.#recordBuffer.add(batch)
    }
    this.#recordBuffer.flush(connection)
  }
}

async function truncateLog(path: string): Promise<void> {
  const size = (await stat(path).catch(() => undefined))?.size ?? 0
  if (size > maxLogBytes) await truncate(path, 0)
}
