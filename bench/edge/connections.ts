import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { cores, pin } from '../edge-load.ts'
import type { Order, Report } from './connections-process.ts'
import { hostname } from './contenders.ts'

/** A process that holds connections to one port. */
export class Connections implements AsyncDisposable {
  readonly #child: ChildProcess
  latest: Report = { open: 0, closed: 0 }

  constructor(child: ChildProcess) {
    this.#child = child
    child.on('message', (report: Report) => {
      this.latest = report
    })
  }

  /** Opens more connections, which stay idle after one response each. */
  async open(count: number): Promise<void> {
    const before = this.latest.open
    this.#send({ open: count })
    await once(this.#child, 'message')
    if (this.latest.open < before + count) throw new Error(`only ${this.latest.open} of ${before + count} connections are open`)
  }

  /** Keeps as many connections open that send a header line a second. */
  attack(count: number): void {
    this.#send({ attack: count })
  }

  #send(order: Order): void {
    this.#child.send(order)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#child, 'exit')
    this.#child.disconnect()
    await ended
  }
}

export async function startConnections(port: number, protocol: 'http' | 'https'): Promise<Connections> {
  const child = fork(join(import.meta.dirname, 'connections-process.ts'), [String(port), hostname, protocol])
  await once(child, 'spawn')
  await pin(child.pid!, cores?.around)
  return new Connections(child)
}
