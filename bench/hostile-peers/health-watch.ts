// Worker thread of `watch.ts`: requests /api/health at a fixed rate, so that a request that waits delays no other, and samples the control plane's memory.
import { Agent, request } from 'node:http'
import { parentPort, workerData } from 'node:worker_threads'
import { residentBytesOfInstance } from '../kit/process-memory.ts'

const { url, referenceUrl, pid, token, everyMs } = workerData as Record<'url' | 'referenceUrl' | 'token', string> &
  Record<'pid' | 'everyMs', number>
const agent = new Agent({ keepAlive: true })
/** Time limit of a request, so that a server that never answers does not delay the report without end. */
const limitMs = 30_000
const latencies: number[] = []
/** Latencies of a bare server next to the instance, which show how busy the machine is. */
const referenceLatencies: number[] = []
let failures = 0
let maxBytes = 0
let isOver = false
let openRequests = 0

function sendBoth(): void {
  get(referenceUrl, {}, (latencyMs) => referenceLatencies.push(latencyMs))
  get(`${url}/api/health`, { authorization: `Bearer ${token}` }, (latencyMs, isGood) => {
    latencies.push(latencyMs)
    if (!isGood) failures += 1
  })
}

/** A response that is incomplete, or that does not end within the time limit, counts as a failure. */
function get(address: string, headers: Record<string, string>, onEnd: (latencyMs: number, isGood: boolean) => void): void {
  const begun = performance.now()
  openRequests += 1
  let isGood = false
  request(address, { agent, headers, signal: AbortSignal.timeout(limitMs) }, (response) => {
    response.resume().on('error', () => undefined)
    response.on('end', () => {
      isGood = response.statusCode === 200
    })
  })
    .on('error', () => undefined)
    .on('close', () => {
      openRequests -= 1
      onEnd(performance.now() - begun, isGood)
      report()
    })
    .end()
}

async function sample(): Promise<void> {
  while (!isOver) {
    maxBytes = Math.max(maxBytes, await residentBytesOfInstance(pid))
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

const requests = setInterval(sendBoth, everyMs)
const sampling = sample()
parentPort?.on('message', () => {
  isOver = true
  clearInterval(requests)
  report()
})

/** Reports after the last open request has ended, so that slow requests count in full. */
async function report(): Promise<void> {
  if (!isOver || openRequests > 0) return
  await sampling
  parentPort?.postMessage({ latencies, referenceLatencies, failures, maxBytes })
  parentPort?.close()
  agent.destroy()
}
