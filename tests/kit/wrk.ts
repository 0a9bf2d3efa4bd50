import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

export interface WrkOptions {
  program: string
  url: string
  connections?: number
  threads?: number
  seconds?: number
  headers?: Record<string, string>
  /** A Lua script that makes the requests. */
  script?: string | undefined
}

export interface LoadResult {
  requests: number
  requestsPerSecond: number
  p50Ms: number
  p99Ms: number
  /** Socket errors, time-outs and replies that are not 2xx or 3xx. */
  errors: number
}

export async function runWrk({ program, url, connections = 32, threads = 1, seconds = 5, headers = {}, script }: WrkOptions) {
  const named = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
  const args = [
    '--latency',
    '-t',
    String(threads),
    '-c',
    String(connections),
    '-d',
    `${seconds}s`,
    ...named,
    ...(script ? ['-s', script] : []),
    url,
  ]
  const { stdout } = await promisify(execFile)(program, args, { timeout: (seconds + 30) * 1000 })
  return parseWrk(stdout)
}

export function parseWrk(text: string): LoadResult {
  const number = (pattern: RegExp) => Number(pattern.exec(text)?.[1] ?? 0)
  const requests = /(\d+) requests in/.exec(text)?.[1]
  if (requests === undefined) throw new Error(`unexpected output of wrk:\n${text}`)
  const socketErrors = /Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)/.exec(text)?.slice(1) ?? []
  return {
    requests: Number(requests),
    requestsPerSecond: number(/Requests\/sec:\s+([\d.]+)/),
    p50Ms: inMs(/^\s*50%\s+(\S+)/m.exec(text)?.[1]),
    p99Ms: inMs(/^\s*99%\s+(\S+)/m.exec(text)?.[1]),
    errors: socketErrors.reduce((sum, count) => sum + Number(count), number(/Non-2xx or 3xx responses: (\d+)/)),
  }
}

function inMs(duration = '') {
  const [, value, unit] = /^([\d.]+)(us|ms|s|m)$/.exec(duration) ?? []
  const unitMs = { us: 0.001, ms: 1, s: 1000, m: 60_000 }[unit ?? '']
  if (value === undefined || unitMs === undefined) throw new Error(`wrk gave a latency of ${JSON.stringify(duration)}`)
  return Number(value) * unitMs
}
