import { statSync } from 'node:fs'
import { Agent } from 'node:http'
import { inspect } from 'node:util'
import Docker from 'dockerode'
import { errorMessage } from '../../../platform/error-message.ts'
import type { ListenerOwner } from '../../../platform/listener/listener-owner.ts'
import { EngineUnreachable } from '../engine-unreachable.ts'

export type Engine = Docker

/** Opens the engine at a socket. Ignores the DOCKER_ variables of the environment. */
export function openEngine(socketPath: string): Engine {
  const withoutEnvironment = { host: undefined, port: undefined, protocol: 'http' as const }
  // No keep-alive: after a restart of the engine, the first call on an old connection would fail.
  return adaptClient(
    new Docker({ socketPath, agent: new Agent({ keepAlive: false }), ...withoutEnvironment } as Docker.DockerOptions),
  )
}

type Callback = (error: unknown, ...rest: unknown[]) => void

interface Modem {
  buildRequest(options: object, context: unknown, data: unknown, callback: Callback): void
}

/**
 * Changes the Docker client in two ways. A failed connection rejects with an `EngineUnreachable`. And the client no longer
 * formats each request, with its agent and open sockets, for debug output that is never shown: most of the cost of a call.
 */
function adaptClient(engine: Docker): Engine {
  const modem = engine.modem as unknown as Modem
  const build = modem.buildRequest.bind(modem)
  modem.buildRequest = (options, context, data, callback) => {
    Object.defineProperty(options, inspect.custom, { value: () => 'a request' })
    build(options, context, data, (error, ...rest) => callback(error ? asEngineUnreachable(error) : error, ...rest))
  }
  return engine
}

const connectionLostCodes = new Set(['ECONNRESET', 'EPIPE'])

function asEngineUnreachable(error: unknown): unknown {
  const { code = '', syscall } = error as NodeJS.ErrnoException
  if (syscall !== 'connect' && !connectionLostCodes.has(code)) return error
  return new EngineUnreachable(unreachableMessage(code), { cause: error })
}

function unreachableMessage(code: string): string {
  if (code === 'EACCES' || code === 'EPERM') return 'The Docker engine denied access. An operator must give Berth access to it.'
  if (connectionLostCodes.has(code)) return 'The connection to the Docker engine was lost'
  return 'The Docker engine is not running. An operator must start it.'
}

const remoteEngines = new WeakSet<Engine>()

/** Opens an engine on another machine through an agent. */
export function openEngineThrough(agent: Agent): Engine {
  const engine = adaptClient(
    new Docker({ host: 'docker', port: 80, protocol: 'http', agent, socketPath: undefined } as Docker.DockerOptions),
  )
  remoteEngines.add(engine)
  return engine
}

/** Whether the engine is on another machine, with other ports, CPUs and processes. */
export const isRemote = (engine: Engine): boolean => remoteEngines.has(engine)

/**
 * Owner of the ports that the engine publishes: the user that the engine runs as, which owns its socket, or root if the
 * socket was given to another user.
 */
export function listenerOf(engine: Engine): { listener?: ListenerOwner } {
  if (process.platform !== 'linux' || isRemote(engine)) return {}
  const { socketPath } = engine.modem as { socketPath?: string }
  const uid = socketPath === undefined ? undefined : statSync(socketPath, { throwIfNoEntry: false })?.uid
  return { listener: uid ? { uid, orRoot: true } : { uid: 0 } }
}

const defaultTimeoutMs = 60_000

/** Runs a call with a time limit and the caller's abort signal. */
export async function callEngine<T>(
  call: (signal: AbortSignal) => Promise<T>,
  { abort, timeoutMs = defaultTimeoutMs }: { abort?: AbortSignal; timeoutMs?: number } = {},
): Promise<T> {
  const timeout = AbortSignal.timeout(timeoutMs)
  try {
    return await rejectOnAbort(call, abort ? AbortSignal.any([abort, timeout]) : timeout)
  } catch (error) {
    abort?.throwIfAborted()
    if (timeout.aborted) throw new EngineUnreachable(`The Docker engine did not answer within ${Math.round(timeoutMs / 1000)} s`)
    throw error
  }
}

/** Stops waiting on abort, because some calls of the client ignore signals. */
function rejectOnAbort<T>(call: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted()
  return new Promise<T>((resolve, reject) => {
    const onAbort = () => reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    call(signal)
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', onAbort))
  })
}

/** Same as `callEngine`, but returns undefined if the object does not exist. */
export async function callEngineOrMissing<T>(
  call: (signal: AbortSignal) => Promise<T>,
  options?: { abort?: AbortSignal; timeoutMs?: number },
): Promise<T | undefined> {
  try {
    return await callEngine(call, options)
  } catch (error) {
    if (statusOf(error) === 404) return undefined
    throw error
  }
}

const maxEventLength = 2 * 1024 * 1024

/** Streams events of the engine, one JSON object per line. */
export async function* eventsOf(
  filters: Record<string, string[]>,
  engine: Engine,
  { abort, onOpen }: { abort: AbortSignal; onOpen?: () => void },
): AsyncGenerator<{ id?: string; Type?: string; Action?: string; Actor?: { Attributes?: Record<string, string> } }> {
  // The client supports a signal here, its types do not.
  const options = { filters, abortSignal: abort } as { filters: Record<string, string[]> }
  const stream = (await engine.getEvents(options)) as unknown as AsyncIterable<Uint8Array>
  onOpen?.()
  let rest = ''
  const decoder = new TextDecoder()
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > maxEventLength) throw new Error('the engine sent an event that is too long')
    for (const line of lines) if (line.trim()) yield JSON.parse(line)
  }
}

export const statusOf = (error: unknown): number | undefined =>
  typeof error === 'object' && error !== null && 'statusCode' in error ? Number(error.statusCode) : undefined

/** Message of the engine, without the client's prefix. */
export function engineMessage(error: unknown): string {
  const message = errorMessage(error)
  return message.replace(/^\(HTTP code \d+\) [^-]*- /, '').trim()
}

/** An `EngineUnreachable` that tells operators which socket was tried and what to do. */
export function engineUnreachableAt(socketPath: string, error: unknown): EngineUnreachable {
  const message = error instanceof EngineUnreachable ? error.message : 'The Docker engine does not respond'
  return new EngineUnreachable(message, { operatorMessage: operatorMessage(error, socketPath), cause: error })
}

function operatorMessage(error: unknown, socketPath: string): string {
  const { code } = ((error as Error | null)?.cause ?? error ?? {}) as NodeJS.ErrnoException
  if (code === 'ENOENT') return `No Docker engine at ${socketPath}. Start it, or set BERTH_DOCKER_SOCKET to its socket.`
  if (code === 'ECONNREFUSED') return `The Docker engine at ${socketPath} is not running. Start it.`
  if (code === 'EACCES' || code === 'EPERM')
    return `The Docker engine at ${socketPath} denied access to this user. Add the user to the group that owns the socket (usually docker).`
  return `The Docker engine at ${socketPath} does not answer: ${engineMessage(error)}`
}
