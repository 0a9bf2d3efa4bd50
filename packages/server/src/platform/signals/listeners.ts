import type { Log } from '../log.ts'
import type { Listener } from './signals.ts'

/** The listeners of this process, by topic. */
export class Listeners {
  readonly #byTopic = new Map<string, Set<Listener<object>>>()
  readonly #log: Log

  constructor(log: Log) {
    this.#log = log
  }

  add(topic: string, listener: Listener<never>): () => void {
    // One wrapper per subscription, so that the same function may subscribe twice.
    const wrapper: Listener<object> = (event) => listener(event as never)
    const set = this.#byTopic.get(topic) ?? new Set()
    this.#byTopic.set(topic, set.add(wrapper))
    return () => {
      set.delete(wrapper)
      if (set.size === 0 && this.#byTopic.get(topic) === set) this.#byTopic.delete(topic)
    }
  }

  deliver(topic: string, event: object): void {
    for (const listener of this.#byTopic.get(topic) ?? []) {
      try {
        listener(event)
      } catch (error) {
        this.#log.error({ err: error, topic }, 'signals: listener failed')
      }
    }
  }

  deliverToAll(event: object): void {
    for (const topic of [...this.#byTopic.keys()]) this.deliver(topic, event)
  }

  clear(): void {
    this.#byTopic.clear()
  }
}
