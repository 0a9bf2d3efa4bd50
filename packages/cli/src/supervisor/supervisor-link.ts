import type { SendHandle } from 'node:child_process'
import { environment } from '../environment.ts'
import { type ListeningSocket, type Order, type Report, stopSignals } from './messages.ts'

type Listener = (socket: ListeningSocket | undefined) => void

/** The connection of a supervised process to its supervisor. */
export class SupervisorLink {
  readonly supervisorPid = process.ppid
  readonly #listeners = new Map<Order, Listener>()
  /** Orders that came before their listener. */
  readonly #early = new Map<Order, ListeningSocket | undefined>()

  /** Undefined in a process that runs alone. */
  static open(): SupervisorLink | undefined {
    return environment.takeSupervised() ? new SupervisorLink() : undefined
  }

  private constructor() {
    // A terminal signals every process in it: the supervisor decides when this one stops.
    for (const signal of stopSignals) process.on(signal, () => undefined)
    process.on('message', (order: Order, socket: unknown) => {
      const listener = this.#listeners.get(order)
      if (listener) listener(socket as ListeningSocket | undefined)
      else this.#early.set(order, socket as ListeningSocket | undefined)
    })
    // Without its supervisor this process would keep the data folder and the port, so it ends at once, without a clean-up.
    process.on('disconnect', endAtOnce)
  }

  report(report: Report, socket?: ListeningSocket): void {
    process.send?.(report, socket as SendHandle | undefined)
  }

  /** An order has one listener. */
  on(order: Order, listener: Listener): void {
    this.#listeners.set(order, listener)
    const socket = this.#early.get(order)
    if (this.#early.delete(order)) listener(socket)
  }

  waitForOrder(order: Order): Promise<ListeningSocket | undefined> {
    return new Promise((resolve) => this.on(order, resolve))
  }

  /** Lets this process end by itself. */
  close(): void {
    process.off('disconnect', endAtOnce)
    if (process.connected) process.disconnect()
  }
}

const endAtOnce = () => process.kill(process.pid, 'SIGKILL')
