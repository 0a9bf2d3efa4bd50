import { setTimeout as pause } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { Berth } from '../../tests/kit/start-berth.ts'
import { residentBytesOfInstance } from '../kit/process-memory.ts'

export interface Watched {
  p50Ms: number
  p99Ms: number
  worstMs: number
  requests: number
  /** Health requests that were not answered with 200. */
  failures: number
  /** The most that the control plane's resident memory grew by. */
  grownBytes: number
}

const everyMs = 20
/** Memory is compared with what the instance holds after it has answered this many requests. */
const warmUpMs = 3_000

/** Watches the instance from a thread of its own: an attack that keeps this thread busy does not delay the other caller. */
export async function watchDuring<T>(berth: Berth, attack: () => Promise<T>): Promise<{ result: T; watched: Watched }> {
  await stop(start(berth), warmUpMs)
  const before = await residentBytesOfInstance(berth.pid)
  const watching = start(berth)
  let result: T
  try {
    result = await attack()
  } catch (error) {
    await watching.terminate()
    throw error
  }
  const { latencies, failures, maxBytes } = await stop(watching)
  latencies.sort((one, other) => one - other)
  const share = (part: number) => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * part))] ?? 0
  const watched = {
    p50Ms: share(0.5),
    p99Ms: share(0.99),
    worstMs: latencies.at(-1) ?? 0,
    requests: latencies.length,
    failures,
    grownBytes: Math.max(0, maxBytes - before),
  }
  return { result, watched }
}

interface Report {
  latencies: number[]
  failures: number
  maxBytes: number
}

const start = ({ url, pid }: Berth): Worker =>
  new Worker(new URL('./health-watch.ts', import.meta.url), { workerData: { url, pid, everyMs } })

async function stop(worker: Worker, afterMs = 0): Promise<Report> {
  const reported = new Promise<Report>((resolve, reject) => worker.once('message', resolve).once('error', reject))
  await pause(afterMs)
  worker.postMessage('stop')
  return reported
}
