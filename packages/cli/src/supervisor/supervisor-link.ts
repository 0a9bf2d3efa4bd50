import { environment } from '../environment.ts'
import { type Order, type Report, stopSignals } from './messages.ts'

/** The connection of a supervised process to its supervisor. */
export class SupervisorLink {
  readonly supervisorPid = process.ppid
  readonly #listeners = new Map<Order, () => void>()
  /** Orders that came before their listener. */
  readonly #early = new Set<Order>()

  /** Undefined in a process that runs alone. */
  static open(): SupervisorLink | undefined {
    return environment.takeSupervised() ? new SupervisorLink() : undefined
  }

  private constructor() {
    // A terminal signals every process in it: the supervisor decides when this one stops.
    for (const signal of stopSignals) process.on(signal, () => undefined)
    process.on('message', (order: Order) => {
      const listener = this.#listeners.get(order)
      if (listener) listener()
      else this.#early.add(order)
    })
    // Without its supervisor this process would keep the data folder and the port: it ends too, and cleans up as little.
    process.on('disconnect', endAtOnce)
  }

  report(report: Report): void {
    process.send?.(report)
  }

  /** An order has one listener. */
  on(order: Order, listener: () => void): void {
    this.#listeners.set(order, listener)
    if (this.#early.delete(order)) listener()
  }

  told(order: Order): Promise<void> {
    return new Promise((resolve) => this.on(order, resolve))
  }

  /** Lets this process end by itself. */
  close(): void {
    process.off('disconnect', endAtOnce)
    if (process.connected) process.disconnect()
  }
}

const endAtOnce = () => process.kill(process.pid, 'SIGKILL')
