import { request } from 'node:http'
import { connect } from 'node:net'

export interface ProbeTarget {
  host: string
  port: number
  /** Absent: a TCP connection is enough. */
  path?: string
}

export type ProbeAnswer = { healthy: true; status: number | null } | { healthy: false; status: number | null; reason: string }

/** Asks an instance of ours whether it serves. Never rejects: what is wrong is the answer. */
export type Probe = (target: ProbeTarget, timeoutMs: number, abort: AbortSignal) => Promise<ProbeAnswer>

export const probe: Probe = async (target, timeoutMs, abort) => {
  const limit = AbortSignal.any([abort, AbortSignal.timeout(timeoutMs)])
  try {
    return target.path === undefined ? await knock(target, limit) : await get({ ...target, path: target.path }, limit)
  } catch (error) {
    return { healthy: false, status: null, reason: wordsFor(error, limit, timeoutMs) }
  }
}

function knock({ host, port }: ProbeTarget, limit: AbortSignal): Promise<ProbeAnswer> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, signal: limit })
    socket.once('connect', () => {
      socket.destroy()
      resolve({ healthy: true, status: null })
    })
    socket.once('error', reject)
  })
}

/** Any status below 400 is healthy; redirects are an answer too. */
function get({ host, port, path }: Required<ProbeTarget>, limit: AbortSignal): Promise<ProbeAnswer> {
  return new Promise((resolve, reject) => {
    const asked = request(
      { host, port, path, signal: limit, agent: false, headers: { 'user-agent': 'berth-health-check' } },
      (answer) => {
        const status = answer.statusCode ?? 0
        answer.destroy()
        resolve(status < 400 ? { healthy: true, status } : { healthy: false, status, reason: `it answered ${status}` })
      },
    )
    asked.once('error', reject)
    asked.end()
  })
}

function wordsFor(error: unknown, limit: AbortSignal, timeoutMs: number): string {
  if (limit.aborted) return `it did not answer within ${Math.round(timeoutMs / 1000)} s`
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ECONNREFUSED') return 'nothing listens on its port'
  if (code === 'ECONNRESET') return 'it closed the connection'
  return code ?? 'it cannot be reached'
}
