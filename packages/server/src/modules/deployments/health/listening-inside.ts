import type { Runtime } from '../../../drivers/runtime/runtime.ts'
import { listenersIn as socketsIn } from '../../../platform/listener/listening-sockets.ts'

export interface ListeningAt {
  port: number
  /** Reachable only from inside the same container. */
  isLoopback: boolean
}

const readMs = 5_000
const maxBytes = 256 * 1024
/** Docker's embedded DNS server, present in every container of a user-defined network. */
const nameServer = '127.0.0.11'

/** Listening sockets inside a container, from /proc/net; null where they cannot be read. */
export async function listeningInside(runtime: Runtime, instanceId: string): Promise<ListeningAt[] | null> {
  if (runtime.kind !== 'docker') return null
  let text = ''
  const onStdout = (chunk: Uint8Array) => {
    if (text.length < maxBytes) text += Buffer.from(chunk).toString('latin1')
  }
  try {
    // One of the two files may be missing: `cat` then fails after it has printed the other.
    await runtime.exec(instanceId, { argv: ['cat', '/proc/net/tcp', '/proc/net/tcp6'], onStdout }, AbortSignal.timeout(readMs))
  } catch {
    return null
  }
  return text.includes('local_address') ? listenersIn(text) : null
}

/** Listeners by port. A port is loopback only if all of its listeners are. */
export function listenersIn(table: string): ListeningAt[] {
  const found = new Map<number, ListeningAt>()
  for (const { host, port } of socketsIn(table.slice(0, maxBytes))) {
    if (host === nameServer) continue
    const isLoopback = (host.startsWith('127.') || host === '::1') && found.get(port)?.isLoopback !== false
    found.set(port, { port, isLoopback })
  }
  return [...found.values()].sort((left, right) => left.port - right.port)
}
