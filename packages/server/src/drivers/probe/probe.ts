import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { checkListener } from '../../platform/listener/listener-check.ts'
import type { ListenerOwner } from '../../platform/listener/listener-owner.ts'

export interface ProbeTarget {
  host: string
  port: number
  /** The process that must own the listener; another program on the port is not probed. */
  listener?: ListenerOwner
  /** Absent: a TCP connection is enough. */
  path?: string
  /** Statuses below it are healthy; default 400. */
  healthyBelow?: number
  /** Accepts a response that is not HTTP: it shows that a program listens. */
  anyProtocol?: boolean
  /** How long to wait for a listener while the connection is refused, at most half of the timeout; default 0. */
  awaitListenerMs?: number
}

export type ProbeResult =
  | { healthy: true; status: number | null }
  /** `refused`: the port refused connections for all of `awaitListenerMs`. */
  | { healthy: false; status: number | null; reason: string; refused?: true }

/** Probes an instance. Never rejects: a failure is part of the result. */
export type Probe = (target: ProbeTarget, timeoutMs: number, abort: AbortSignal) => Promise<ProbeResult>

export const probe: Probe = async (target, timeoutMs, abort) => {
  const limit = AbortSignal.any([abort, AbortSignal.timeout(timeoutMs)])
  try {
    const socket = await connectOnceListening(target, Math.min(target.awaitListenerMs ?? 0, timeoutMs / 2), limit)
    if (!socket) return { healthy: false, status: null, reason: 'another program listens on its port' }
    return target.path === undefined ? await checkStaysOpen(socket) : await get(socket, { ...target, path: target.path }, limit)
  } catch (error) {
    if (target.anyProtocol && isOtherProtocol(error)) return { healthy: true, status: null }
    const refused = target.awaitListenerMs && isRefused(error) ? { refused: true as const } : {}
    return { healthy: false, status: null, reason: messageFor(error, limit, timeoutMs), ...refused }
  }
}

/** How long a connection must stay open to count as healthy. */
const minOpenMs = 150

/** Pause between two attempts on a port that refuses connections. */
const retryMs = 10

/** Connects as soon as a program listens: a refused connection costs far less than the interval between two probes. */
async function connectOnceListening(target: ProbeTarget, waitMs: number, limit: AbortSignal): Promise<Socket | null> {
  for (const until = performance.now() + waitMs; ; ) {
    try {
      return await connectTo(target, limit)
    } catch (error) {
      if (!isRefused(error) || performance.now() >= until) throw error
      await pause(retryMs, undefined, { signal: limit })
    }
  }
}

/** A connection to the instance's own listener; null when another program owns it. */
function connectTo({ host, port, listener }: ProbeTarget, limit: AbortSignal): Promise<Socket | null> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, signal: limit })
    socket.once('error', reject)
    socket.once('connect', () => {
      if (!listener) return resolve(socket)
      checkListener({ host, port }, listener, (isOwn) => {
        if (!isOwn) socket.destroy()
        // A request on a closed connection never ends, not even when aborted.
        if (isOwn && (socket.destroyed || !socket.readable)) return reject(closedError())
        resolve(isOwn ? socket : null)
      })
    })
  })
}

const closedError = () => Object.assign(new Error('it closed the connection'), { code: 'ECONNRESET' })

/** Checks that a connection stays open: Docker's proxy accepts connections before the program does and closes them at once. */
function checkStaysOpen(socket: Socket): Promise<ProbeResult> {
  return new Promise((resolve, reject) => {
    const answer = (result: ProbeResult) => {
      clearTimeout(clock)
      socket.destroy()
      resolve(result)
    }
    const healthy: ProbeResult = { healthy: true, status: null }
    const clock = setTimeout(() => answer(healthy), minOpenMs)
    socket.once('data', () => answer(healthy))
    socket.once('end', () => answer({ healthy: false, status: null, reason: 'it closed the connection' }))
    socket.once('error', (error) => {
      clearTimeout(clock)
      reject(error)
    })
  })
}

/** Sends a GET request. A redirect is not followed: its status decides. */
function get(socket: Socket, target: ProbeTarget & { path: string }, limit: AbortSignal) {
  const { host, port, path, healthyBelow = 400 } = target
  return new Promise<ProbeResult>((resolve, reject) => {
    const headers = { 'user-agent': 'berth-health-check' }
    const outgoing = request(
      { host, port, path: escaped(path), signal: limit, createConnection: () => socket, headers },
      (answer) => {
        const status = answer.statusCode ?? 0
        answer.destroy()
        resolve(status < healthyBelow ? { healthy: true, status } : { healthy: false, status, reason: `it answered ${status}` })
      },
    )
    outgoing.once('error', reject)
    outgoing.end()
  })
}

/** Escapes a path as a browser does: HTTP paths cannot contain spaces or non-ASCII characters. */
const escaped = (path: string) => path.toWellFormed().replace(/[^!-~]+/g, encodeURIComponent)

const isRefused = (error: unknown) => (error as NodeJS.ErrnoException).code === 'ECONNREFUSED'

/** The response could not be parsed as HTTP. */
const isOtherProtocol = (error: unknown) => String((error as NodeJS.ErrnoException).code).startsWith('HPE_')

function messageFor(error: unknown, limit: AbortSignal, timeoutMs: number): string {
  if (limit.aborted) return `no response within ${Math.max(0.1, Math.round(timeoutMs / 100) / 10)} s`
  const { code } = error as NodeJS.ErrnoException
  if (isRefused(error)) return 'nothing listens on its port'
  if (isOtherProtocol(error)) return 'the response is not HTTP'
  if (code === 'ECONNRESET') return 'it closed the connection'
  return code ?? 'unreachable'
}
