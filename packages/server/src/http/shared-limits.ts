import type { RateLimitName } from '@berth/contract'
import { isReread, type Signals } from '../platform/signals/signals.ts'

const topic = 'rate-limits'
interface CountsSignal {
  counts: [name: RateLimitName, key: string, count: number][]
}

/** Limits against guessing: every attempt is passed on. For other limits, only clients that have used a tenth are passed on. */
const strict: ReadonlySet<RateLimitName> = new Set(['login', 'signUp', 'account'])
const sharedFrom = 0.1
const flushMs = 250
/** Keys that wait for a flush at most; more are not passed on. */
const maximumKeys = 2_000
/** A signal of PostgreSQL has at most 8 KB. */
const signalBytes = 6_000

/**
 * Passes the counts of this process on to the other processes of the instance, and theirs to `add`. It is best effort: a lost signal
 * lets a client make some more requests. The cost is bounded: small clients are not passed on, and all counts of a moment share a
 * signal.
 */
export class SharedLimits {
  readonly #signals: Signals
  readonly #unsubscribe: () => void
  readonly #pending = new Map<string, CountsSignal['counts'][number]>()
  #timer: NodeJS.Timeout | undefined
  #isPublishing = false

  constructor(signals: Signals, add: (name: RateLimitName, key: string, count: number) => void) {
    this.#signals = signals
    this.#unsubscribe = signals.subscribe<CountsSignal>(topic, (event) => {
      // Signals of this process are delivered here too.
      if (this.#isPublishing || isReread(event)) return
      for (const [name, key, count] of event.counts) add(name, key, count)
    })
  }

  /** `total`: requests in the current window, this one included. */
  note(name: RateLimitName, key: string, count: number, { total, limit }: { total: number; limit: number }): void {
    if (!strict.has(name) && total < limit * sharedFrom) return
    const id = `${name} ${key}`
    const waiting = this.#pending.get(id)
    if (!waiting && this.#pending.size >= maximumKeys) return
    this.#pending.set(id, [name, key, (waiting?.[2] ?? 0) + count])
    this.#timer ??= setTimeout(() => this.#flush(), flushMs).unref()
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#unsubscribe()
  }

  #flush(): void {
    this.#timer = undefined
    let counts: CountsSignal['counts'] = []
    let bytes = 0
    for (const one of this.#pending.values()) {
      // An attempt that was undone.
      if (one[2] === 0) continue
      const size = Buffer.byteLength(JSON.stringify(one)) + 1
      if (bytes + size > signalBytes && counts.length > 0) {
        this.#publish(counts)
        counts = []
        bytes = 0
      }
      counts.push(one)
      bytes += size
    }
    this.#pending.clear()
    if (counts.length > 0) this.#publish(counts)
  }

  #publish(counts: CountsSignal['counts']): void {
    this.#isPublishing = true
    this.#signals.publish(topic, { counts } satisfies CountsSignal)
    this.#isPublishing = false
  }
}
