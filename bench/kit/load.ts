import { Agent, request } from 'undici'
import { type LoadResult, runWrk } from '../../tests/kit/wrk.ts'

export type { LoadResult }

export interface LoadOptions {
  url: string
  connections?: number
  /** The load ends after this time… */
  seconds?: number
  /** …or, where it is given, after this many requests. */
  requests?: number
  headers?: Record<string, string>
  /** Path of wrk; without it the load comes from this process, which then competes with nobody only on a machine of two cores or more. */
  wrk?: string
}

/** Constant load on one address over kept connections. Any reply that is not 2xx or 3xx is an error. */
export function putLoadOn(options: LoadOptions): Promise<LoadResult> {
  const { wrk, url, connections = 32, seconds = 5, headers } = options
  if (wrk && options.requests === undefined) return runWrk({ program: wrk, url, connections, seconds, headers })
  return loadFromHere({ ...options, connections, seconds })
}

async function loadFromHere({
  url,
  connections,
  seconds,
  requests = Infinity,
  headers,
}: LoadOptions & { connections: number; seconds: number }) {
  const agent = new Agent({ connections, pipelining: 1, keepAliveTimeout: 60_000 })
  const latenciesMs: number[] = []
  let errors = 0
  let started = 0
  const begin = performance.now()
  const end = Number.isFinite(requests) ? Infinity : begin + seconds * 1000
  const oneConnection = async () => {
    while (started < requests && performance.now() < end) {
      started++
      const sent = performance.now()
      try {
        const { statusCode, body } = await request(url, { dispatcher: agent, headers })
        await body.dump()
        if (statusCode >= 400) errors++
      } catch {
        errors++
      }
      latenciesMs.push(performance.now() - sent)
    }
  }
  await Promise.all(Array.from({ length: connections }, oneConnection))
  const tookSeconds = (performance.now() - begin) / 1000
  await agent.close()
  latenciesMs.sort((a, b) => a - b)
  return {
    requests: latenciesMs.length,
    requestsPerSecond: latenciesMs.length / tookSeconds,
    p50Ms: percentile(latenciesMs, 50),
    p99Ms: percentile(latenciesMs, 99),
    errors,
  }
}

/** Nearest rank, of a sorted list. */
export function percentile(sorted: readonly number[], percent: number): number {
  return sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)] ?? 0
}
