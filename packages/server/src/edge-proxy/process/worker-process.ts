import type net from 'node:net'
import { answerCall, isCall } from '../protocol/calls.ts'
import type { TablePiece } from '../protocol/table-pieces.ts'
import { isListen } from './socket-handoff.ts'
import { EdgeWorker, type LimitChanges } from './worker.ts'
import type { WorkerEvent } from './worker-pool.ts'

const reportIntervalMs = 100
/** Maximum number of batches that the edge process has not read yet. Above it, records stay in this worker, which drops the oldest. */
const maxBatchesInFlight = 16

/** An additional worker. The edge process that started it sends its table, listening sockets and calls. */
export function runWorkerProcess(): void {
  let worker: EdgeWorker | undefined
  const sendEvent = (event: WorkerEvent) => {
    if (process.connected) process.send!(event)
  }
  let batchesInFlight = 0
  const sendRecords = () => {
    while (process.connected && batchesInFlight < maxBatchesInFlight) {
      const batch = worker?.takeRecords()
      if (!batch) return
      batchesInFlight += 1
      const event: WorkerEvent = { event: 'records', batch: { ...batch, json: batch.json.toString() } }
      process.send!(event, undefined, undefined, () => {
        batchesInFlight -= 1
      })
    }
  }
  const prepare = async (httpsPort: number, ticketKeys: string) => {
    worker = new EdgeWorker({
      onWake: (projectId, hostname) => sendEvent({ event: 'wake', projectId, hostname }),
      onCertificateWanted: (hostname) => sendEvent({ event: 'certificate', hostname }),
    })
    worker.httpsPort = httpsPort
    worker.shareLimits()
    if (httpsPort > 0) await worker.prepareTls(Buffer.from(ticketKeys, 'base64'))
  }
  process.on('message', (message: unknown, handle: unknown) => {
    if (isCall(message)) void answerCall(message, { prepare, ...callsOf(worker, sendRecords) }, send)
    else if (handle && isListen(message)) worker?.serve(handle as net.Server, message.listen)
  })
  setInterval(() => {
    sendRecords()
    const changes = worker?.takeChanges() ?? []
    if (changes.length > 0) sendEvent({ event: 'limit-changes', changes })
  }, reportIntervalMs)
  // Without the edge process the worker gets no new tables.
  process.on('disconnect', () => process.exit(0))
}

const send = (message: object) => {
  if (process.connected) process.send!(message)
}

const callsOf = (worker: EdgeWorker | undefined, sendRecords: () => void) =>
  worker && {
    take: (piece: TablePiece) => worker.take(piece),
    drain: (id: string, timeoutMs: number) => worker.drain(id, timeoutMs),
    activity: () => worker.activity(),
    takeHits: () => worker.takeHits(),
    requestTotals: (id: string) => worker.requestTotals(id),
    retry: () => worker.retry(),
    takeTraffic: () => worker.takeTraffic(),
    addLimitChanges: (changes: LimitChanges) => worker.addRemoteCounts(changes),
    close: async (graceMs: number) => {
      await worker.close(graceMs)
      sendRecords()
    },
  }
