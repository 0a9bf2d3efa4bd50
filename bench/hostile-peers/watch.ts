import { setTimeout as pause } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { Hosting } from '../../tests/kit/hosting.ts'
import { residentBytesOfInstance } from '../kit/process-memory.ts'
import { startReferenceServer } from '../kit/reference-server.ts'

export interface Watched {
  p50Ms: number
  p99Ms: number
  /** p99 of a bare server that was requested in the same moments. */
  bareP99Ms: number
  worstMs: number
  requests: number
  /** Health requests that were not answered with 200. */
  failures: number
  /** Largest growth of the control plane's resident memory. */
  grownBytes: number
}

const everyMs = 20
/** Time of health requests before the attack. Memory growth is measured from the end of this time. */
const warmUpMs = 3_000

/** Watches the instance from a thread of its own: an attack that keeps this thread busy does not delay the other caller. */
export async function watchDuring<T>(
  { api, berth }: Hosting,
  attack: () => Promise<T>,
): Promise<{ result: T; watched: Watched }> {
  await using bare = await startReferenceServer('{}')
  const watched = {
    url: berth.url,
    referenceUrl: bare.url,
    pid: berth.pid,
    token: (await api('POST', '/tokens', { name: 'watch' })).body.data.token,
  }
  await stop(start(watched), warmUpMs)
  const before = await residentBytesOfInstance(berth.pid)
  const watching = start(watched)
  let result: T
  try {
    result = await attack()
  } catch (error) {
    await watching.terminate()
    throw error
  }
  const { latencies, referenceLatencies, failures, maxBytes } = await stop(watching)
  for (const times of [latencies, referenceLatencies]) times.sort((one, other) => one - other)
  const share = (part: number, times = latencies) => times[Math.min(times.length - 1, Math.floor(times.length * part))] ?? 0
  const figures = {
    p50Ms: share(0.5),
    p99Ms: share(0.99),
    bareP99Ms: share(0.99, referenceLatencies),
    worstMs: latencies.at(-1) ?? 0,
    requests: latencies.length,
    failures,
    grownBytes: Math.max(0, maxBytes - before),
  }
  return { result, watched: figures }
}

interface Report {
  latencies: number[]
  referenceLatencies: number[]
  failures: number
  maxBytes: number
}

/** Starts the watching thread. Its requests are signed in, so that the response also depends on the worker. */
const start = (target: { url: string; referenceUrl: string; pid: number; token: string }): Worker =>
  new Worker(new URL('./health-watch.ts', import.meta.url), { workerData: { ...target, everyMs } })

async function stop(worker: Worker, afterMs = 0): Promise<Report> {
  const reported = new Promise<Report>((resolve, reject) => worker.once('message', resolve).once('error', reject))
  await pause(afterMs)
  worker.postMessage('stop')
  return reported
}
