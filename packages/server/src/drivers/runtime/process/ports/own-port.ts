import type { ListeningSockets } from '../../../../platform/listener/listening-sockets.ts'
import { socketsOf } from '../../../../platform/listener/process-tree.ts'
import type { ProcessIdentity } from '../processes/process-table.ts'

/** What a program does about its port, as the kernel tells it. */
export interface PortFinding {
  /** Where its own processes take connections from this machine; null: nowhere yet, or not long enough. */
  at: number | null
  /** All its listeners, as people write them. */
  listensOn: string[]
  /** It listens there, and somebody else does too: who gets a connection is chance. */
  shared: number | null
}

export interface PortQuestion {
  process: ProcessIdentity
  /** What PORT says. */
  given: number
  /** Where its source says that it listens. */
  hinted: number | null
}

/** Listeners of one program that are checked; the rest is ignored. */
const listenersAtMost = 64

/** Addresses that a connection to 127.0.0.1 comes to. */
const reachable = new Set(['127.0.0.1', '0.0.0.0', '::'])

/**
 * Finds the port of a program that listens on one of its own, whatever PORT says. Only sockets that this instance's processes
 * have open count. PORT is what it is as soon as it listens there; the port that its source names counts at once; any other
 * one after a while, for a program may open its metrics before its pages.
 */
export class OwnPort {
  readonly #waitMs: number
  #since: number | null = null

  constructor(waitMs: number) {
    this.#waitMs = waitMs
  }

  /** Another run begins. */
  reset(): void {
    this.#since = null
  }

  async look({ process, given, hinted }: PortQuestion, sockets: ListeningSockets): Promise<PortFinding> {
    const all = await sockets.all()
    const inodes = await socketsOf(process, new Set(all.map(({ inode }) => inode)))
    const own = all.filter(({ inode }) => inodes.has(inode)).slice(0, listenersAtMost)
    const listensOn = own.map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`)
    const ports = [...new Set(own.filter(({ host }) => reachable.has(host)).map(({ port }) => port))]
    const [free, shared]: [number[], number[]] = [[], []]
    for (const port of ports) {
      const isAlone = (await sockets.at({ host: '127.0.0.1', port })).every(({ inode }) => inodes.has(inode))
      ;(isAlone ? free : shared).push(port)
    }
    const at = this.#choose(free, given, hinted, performance.now())
    return { at, listensOn, shared: free.length === 0 ? (shared[0] ?? null) : null }
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
