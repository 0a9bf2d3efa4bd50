import type net from 'node:net'
import type { EdgeSettings } from '../protocol/edge-settings.ts'
import type { Listening } from './listening.ts'

const stepMs = 10_000

/**
 * Starts the successor and gives it the listening sockets themselves: both accept from the same queue until the old one lets
 * go, so no connection is refused or reset. Rejects, with everything as it was, when the successor does not come up.
 */
export async function handOver(successor: EdgeSettings, listening: Listening, release: () => Promise<void>): Promise<number> {
  // Loaded when it is needed: most edges never start a process.
  const { spawnEdge } = await import('../protocol/spawn-edge.ts')
  const child = spawnEdge(successor, 'successor')
  const reported = (word: string) =>
    new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`the new edge process did not become ${word} in time`)), stepMs)
      child.on('message', (message) => {
        if (message !== word) return
        clearTimeout(timer)
        resolve()
      })
      child.once('error', reject)
      child.once('exit', (code) => reject(new Error(`the new edge process exited with code ${code}`)))
    })
  try {
    const serving = reported('serving')
    serving.catch(() => {})
    await reported('prepared')
    await release()
    child.send({ listen: 'http' }, listening.http)
    if (listening.https) child.send({ listen: 'https' }, listening.https)
    await serving
    child.disconnect()
    return child.pid!
  } catch (cause) {
    child.kill('SIGKILL')
    throw cause
  }
}

/** The successor's side: everything that takes connections is ready before the sockets are asked for. */
export function takeOver(withTls: boolean, serve: (server: net.Server, name: 'http' | 'https') => void): Promise<Listening> {
  return new Promise((resolve) => {
    const servers: Partial<Listening> = {}
    process.on('message', (message: unknown, handle: unknown) => {
      if (!handle || !isListen(message)) return
      servers[message.listen] = handle as net.Server
      serve(handle as net.Server, message.listen)
      if (servers.http && (servers.https || !withTls)) resolve({ http: servers.http, https: servers.https })
    })
    process.on('disconnect', giveUp)
    process.send!('prepared')
  })
}

/** The predecessor may stop from here on. */
export function announceServing(): void {
  process.off('disconnect', giveUp)
  process.send!('serving')
}

/** A predecessor that dies in the middle has given us nothing to serve. */
const giveUp = () => process.exit(1)

export const isListen = (message: unknown): message is { listen: 'http' | 'https' } =>
  typeof message === 'object' && message !== null && 'listen' in message
