// Worker thread of `watch.ts`: requests /api/health at a fixed rate, so that a request that waits delays no other, and samples the control plane's memory.
import { Agent, request } from 'node:http'
import { parentPort, workerData } from 'node:worker_threads'
import { residentBytesOfInstance } from '../kit/process-memory.ts'

const { url, pid, everyMs } = workerData as { url: string; pid: number; everyMs: number }
const agent = new Agent({ keepAlive: true })
const latencies: number[] = []
let failures = 0
let maxBytes = 0
let isOver = false
let underWay = 0

function send(): void {
  const begun = performance.now()
  underWay += 1
  const done = (isGood: boolean) => {
    underWay -= 1
    latencies.push(performance.now() - begun)
    if (!isGood) failures += 1
    report()
  }
  request(`${url}/api/health`, { agent }, (response) => {
    response.resume().on('end', () => done(response.statusCode === 200))
  })
    .on('error', () => done(false))
    .end()
}

async function sample(): Promise<void> {
  while (!isOver) {
    maxBytes = Math.max(maxBytes, await residentBytesOfInstance(pid))
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

const requests = setInterval(send, everyMs)
const sampling = sample()
parentPort?.on('message', () => {
  isOver = true
  clearInterval(requests)
  report()
})

/** Reports after the last open request has ended: one that is never answered counts with its waiting time. */
async function report(): Promise<void> {
  if (!isOver || underWay > 0) return
  await sampling
  parentPort?.postMessage({ latencies, failures, maxBytes })
  parentPort?.close()
  agent.destroy()
}
