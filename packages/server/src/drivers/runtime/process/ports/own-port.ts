import type { ListeningSockets } from '../../../../platform/listener/listening-sockets.ts'
import { socketsOf } from '../../../../platform/listener/process-tree.ts'
import type { ProcessIdentity } from '../processes/process-table.ts'

/** Port usage of a program, as the kernel reports it. */
export interface PortFinding {
  /** Port on which its processes accept connections from this machine. Null: none yet, or not for long enough. */
  port: number | null
  /** All its listeners, as `host:port`. */
  listensOn: string[]
  /** Port on which it listens together with another program, so that either may get a connection. */
  shared: number | null
}

export interface PortSearch {
  process: ProcessIdentity
  /** Port that Berth assigned: the value of PORT. */
  assigned: number
  /** Port that the project's source code names. */
  hinted: number | null
}

/** Limit of the listeners that are checked. The rest is ignored. */
const maxListeners = 64

/** Listening addresses that accept a connection to 127.0.0.1. */
const reachable = new Set(['127.0.0.1', '0.0.0.0', '::'])

/**
 * Finds the port of a program that may ignore PORT. Only sockets of the instance's own processes count. A listener on PORT
 * wins, then one on the port that the source names. Any other port counts after a delay, because a program may open its
 * metrics port before its main port.
 */
export class PortFinder {
  readonly #waitMs: number
  #since: number | null = null

  constructor(waitMs: number) {
    this.#waitMs = waitMs
  }

  /** Starts over for another run of the program. */
  reset(): void {
    this.#since = null
  }

  async check({ process, assigned, hinted }: PortSearch, sockets: ListeningSockets): Promise<PortFinding> {
    const all = await sockets.all()
    const inodes = await socketsOf(process, new Set(all.map(({ inode }) => inode)))
    const ownSockets = all.filter(({ inode }) => inodes.has(inode)).slice(0, maxListeners)
    const listensOn = ownSockets.map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`)
    const ports = [...new Set(ownSockets.filter(({ host }) => reachable.has(host)).map(({ port }) => port))]
    const [free, shared]: [number[], number[]] = [[], []]
    for (const port of ports) {
      const isAlone = (await sockets.at({ host: '127.0.0.1', port })).every(({ inode }) => inodes.has(inode))
      ;(isAlone ? free : shared).push(port)
    }
    const port = this.#choose(free, assigned, hinted, performance.now())
    return { port, listensOn, shared: free.length === 0 ? (shared[0] ?? null) : null }
  }

  #choose(ports: readonly number[], given: number, hinted: number | null, now: number): number | null {
    if (ports.includes(given)) return given
    if (hinted !== null && ports.includes(hinted)) return hinted
    if (ports.length === 0) {
      this.#since = null
      return null
    }
    this.#since ??= now
    return now - this.#since >= this.#waitMs ? Math.min(...ports) : null
  }
}
