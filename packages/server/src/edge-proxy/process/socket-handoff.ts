import type net from 'node:net'
import type { EdgeSettings } from '../protocol/edge-settings.ts'
import { spawnEdge } from '../protocol/spawn-edge.ts'
import type { Listening } from './listening.ts'

const stepMs = 10_000

/*
 * Nothing here is loaded on demand: an upgrade in place has replaced the files of the running edge by the time that it hands over.
 */

/**
 * Starts the successor and sends it the listening sockets: both processes accept from the same queue until the old one stops, so
 * no connection is refused or reset. Rejects and changes nothing if the successor does not start.
 */
export async function handOver(successor: EdgeSettings, listening: Listening, release: () => Promise<void>): Promise<number> {
  const child = spawnEdge(successor, 'successor')
  const waitForReport = (state: string) =>
    new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`the new edge process did not become ${state} in time`)), stepMs)
      child.on('message', (message) => {
        if (message !== state) return
        clearTimeout(timer)
        resolve()
      })
      child.once('error', reject)
      child.once('exit', (code) => reject(new Error(`the new edge process exited with code ${code}`)))
    })
  try {
    const serving = waitForReport('serving')
    serving.catch(() => {})
    await waitForReport('prepared')
    await release()
    if (successor.front) child.send({ listen: 'front' })
    else child.send({ listen: 'http' }, listening.http)
    if (listening.https) child.send({ listen: 'https' }, listening.https)
    await serving
    child.disconnect()
    return child.pid!
  } catch (cause) {
    child.kill('SIGKILL')
    throw cause
  }
}

/** Called by the successor: it requests the sockets only when it is ready to accept connections. */
export function takeOver(withTls: boolean, serve: (server: net.Server, name: 'http' | 'https') => void): Promise<Listening> {
  return new Promise((resolve) => {
    const servers: Partial<Listening> = {}
    process.on('message', (message: unknown, handle: unknown) => {
      if (!handle || !isListen(message)) return
      servers[message.listen] = handle as net.Server
      serve(handle as net.Server, message.listen)
      if (servers.http && (servers.https || !withTls)) resolve({ http: servers.http, https: servers.https })
    })
    process.on('disconnect', exitWithoutSockets)
    process.send!('prepared')
  })
}

/** Called by a successor behind nginx, which opens its own socket: resolves when the predecessor leaves its place. */
export function waitForTurn(): Promise<void> {
  return new Promise((resolve) => {
    process.once('message', () => resolve())
    process.on('disconnect', exitWithoutSockets)
    process.send!('prepared')
  })
}

/** Tells the predecessor that it may stop. */
export function announceServing(): void {
  process.off('disconnect', exitWithoutSockets)
  process.send!('serving')
}

/** The predecessor died before it sent the sockets: there is nothing to serve. */
const exitWithoutSockets = () => process.exit(1)

export const isListen = (message: unknown): message is { listen: 'http' | 'https' } =>
  typeof message === 'object' && message !== null && 'listen' in message
