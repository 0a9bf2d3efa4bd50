import type { ListeningSockets } from '../../../../platform/listener/listening-sockets.ts'
import { socketsOf } from '../../../../platform/listener/process-tree.ts'
import type { ProcessIdentity } from '../processes/process-table.ts'

/** Port usage of a program, as the kernel reports it. */
export interface PortFinding {
  /** Port on which the program's processes accept connections from this machine. Null: none yet, or not for long enough. */
  port: number | null
  /** All listeners of the program, as `host:port`. */
  listensOn: string[]
  /** Port on which the program and another one both listen, so that either may get a connection. */
  sharedPort: number | null
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
  /** Time since which the program listens on a port other than PORT and the hinted one. */
  #otherPortSince: number | null = null

  constructor(waitMs: number) {
    this.#waitMs = waitMs
  }

  /** Starts over for another run of the program. */
  reset(): void {
    this.#otherPortSince = null
  }

  async check({ process, assigned, hinted }: PortSearch, sockets: ListeningSockets): Promise<PortFinding> {
    const all = await sockets.all()
    const inodes = await socketsOf(process, new Set(all.map(({ inode }) => inode)))
    const ownSockets = all.filter(({ inode }) => inodes.has(inode)).slice(0, maxListeners)
    const listensOn = ownSockets.map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`)
    const ports = [...new Set(ownSockets.filter(({ host }) => reachable.has(host)).map(({ port }) => port))]
    const exclusive: number[] = []
    const shared: number[] = []
    for (const port of ports) {
      const isAlone = (await sockets.at({ host: '127.0.0.1', port })).every(({ inode }) => inodes.has(inode))
      if (isAlone) exclusive.push(port)
      else shared.push(port)
    }
    const port = this.#choose(exclusive, assigned, hinted, performance.now())
    return { port, listensOn, sharedPort: exclusive.length === 0 ? (shared[0] ?? null) : null }
  }

  #choose(ports: readonly number[], assigned: number, hinted: number | null, now: number): number | null {
    if (ports.includes(assigned)) return assigned
    if (hinted !== null && ports.includes(hinted)) return hinted
    if (ports.length === 0) {
      this.#otherPortSince = null
      return null
    }
    this.#otherPortSince ??= now
    return now - this.#otherPortSince >= this.#waitMs ? Math.min(...ports) : null
  }
}
