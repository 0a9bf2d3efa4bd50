import type { Instance } from '../runtime.ts'
import type { ServiceControl } from './service-control.ts'

const firstPauseMs = 100
const maxPauseMs = 60_000
/** A program that ran this long starts with the first pause again. */
const stableMs = 10_000

/**
 * Restarts instances that ended by themselves, as their policies say, with growing pauses. While the control plane is not running,
 * none is restarted: the next one does it.
 */
export class ServiceRestarts {
  readonly #control: ServiceControl
  readonly #onRestart: (instance: Instance) => void
  readonly #pauses = new Map<string, number>()
  readonly #timers = new Map<string, NodeJS.Timeout>()
  readonly #closed = new AbortController()

  /** `onRestart` gets the instance once it runs again. */
  constructor(control: ServiceControl, onRestart: (instance: Instance) => void) {
    this.#control = control
    this.#onRestart = onRestart
  }

  /** Restarts all instances that ended while no control plane watched them. */
  async scan(): Promise<void> {
    for (const { instance, needsRestart } of await this.#control.readAll()) if (needsRestart) this.consider(instance)
  }

  consider({ instanceId, state, startedAt, lastEnd }: Instance): void {
    if (state !== 'restarting' || this.#timers.has(instanceId) || this.#closed.signal.aborted) return
    const ranMs = startedAt && lastEnd ? Date.parse(lastEnd.at) - Date.parse(startedAt) : 0
    const pauseMs = ranMs >= stableMs ? firstPauseMs : (this.#pauses.get(instanceId) ?? firstPauseMs)
    this.#pauses.set(instanceId, Math.min(maxPauseMs, pauseMs * 2))
    this.#timers.set(
      instanceId,
      setTimeout(() => void this.#restart(instanceId), pauseMs),
    )
  }

  forget(instanceId: string): void {
    clearTimeout(this.#timers.get(instanceId))
    this.#timers.delete(instanceId)
    this.#pauses.delete(instanceId)
  }

  close(): void {
    this.#closed.abort()
    for (const timer of this.#timers.values()) clearTimeout(timer)
  }

  async #restart(instanceId: string): Promise<void> {
    try {
      const instance = await this.#control.restart(instanceId, this.#closed.signal)
      this.#timers.delete(instanceId)
      if (instance) this.#onRestart(instance)
    } catch {
      this.#timers.delete(instanceId)
      // Swarm could not start it, or the engine is unreachable. `scan` follows a reconnect.
      const found = await this.#control.inspect(instanceId).catch(() => undefined)
      if (found) this.consider(found)
    }
  }
}
