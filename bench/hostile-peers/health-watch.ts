// Worker thread of `watch.ts`: requests /api/health at a fixed rate, so that a request that waits delays no other, and samples the control plane's memory.
import { Agent, request } from 'node:http'
import { parentPort, workerData } from 'node:worker_threads'
import { residentBytesOfInstance } from '../kit/process-memory.ts'

const { url, referenceUrl, pid, token, everyMs } = workerData as Record<'url' | 'referenceUrl' | 'token', string> &
  Record<'pid' | 'everyMs', number>
const agent = new Agent({ keepAlive: true })
const latencies: number[] = []
/** The p99 of a bare server beside the instance, which shows how busy the machine is. */
const reference: number[] = []
let failures = 0
let maxBytes = 0
let isOver = false
let underWay = 0

function sendBoth(): void {
  const begun = performance.now()
  underWay += 1
  const done = () => {
    underWay -= 1
    reference.push(performance.now() - begun)
    report()
  }
  request(referenceUrl, { agent }, (response) => response.resume().on('end', done))
    .on('error', done)
    .end()
  send()
}

function send(): void {
  const begun = performance.now()
  underWay += 1
  const done = (isGood: boolean) => {
    underWay -= 1
    latencies.push(performance.now() - begun)
    if (!isGood) failures += 1
    report()
  }
  request(`${url}/api/health`, { agent, headers: { authorization: `Bearer ${token}` } }, (response) => {
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

const requests = setInterval(sendBoth, everyMs)
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
  parentPort?.postMessage({ latencies, reference, failures, maxBytes })
  parentPort?.close()
  agent.destroy()
}
