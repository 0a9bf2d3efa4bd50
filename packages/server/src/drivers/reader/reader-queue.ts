/** The organisation already has the maximum number of queued folders. */
export class TooManyWaiting extends Error {
  override readonly name = 'TooManyWaiting'
}

interface Waiter {
  begin(): void
}

export interface QueueSettings {
  /** Number of concurrent reads. */
  maxConcurrent: number
  /** Maximum queued reads of one holder. */
  maxWaiting: number
}

/**
 * Decides whose folder is read next. Each holder (an organisation) has a queue, and the queues take turns. A holder never gets the
 * last free slot if it has all the others, so slow folders of one organisation do not block another.
 */
export class ReaderQueue {
  readonly #settings: QueueSettings
  /** Queues in order of service: the last one served is at the end. */
  readonly #queues = new Map<string, Set<Waiter>>()
  readonly #runningByHolder = new Map<string, number>()
  #running = 0

  constructor(settings: QueueSettings) {
    this.#settings = settings
  }

  get hasFreeSlot(): boolean {
    return this.#running < this.#settings.maxConcurrent
  }

  /** Resolves when it is the holder's turn, with the function that ends it. Rejects with the reason of `abort`. */
  async acquire(holder: string, abort?: AbortSignal): Promise<() => void> {
    abort?.throwIfAborted()
    if (this.#queues.has(holder) || !this.#mayStart(holder)) await this.#wait(holder, abort)
    else this.#start(holder)
    let isReleased = false
    return () => {
      if (isReleased) return
      isReleased = true
      this.#release(holder)
    }
  }

  #mayStart(holder: string): boolean {
    const share = Math.max(1, this.#settings.maxConcurrent - 1)
    return this.hasFreeSlot && (this.#runningByHolder.get(holder) ?? 0) < share
  }

  #start(holder: string): void {
    this.#running += 1
    this.#runningByHolder.set(holder, (this.#runningByHolder.get(holder) ?? 0) + 1)
  }

  #release(holder: string): void {
    this.#running -= 1
    const remaining = this.#runningByHolder.get(holder)! - 1
    if (remaining > 0) this.#runningByHolder.set(holder, remaining)
    else this.#runningByHolder.delete(holder)
    this.#startNext()
  }

  #wait(holder: string, abort?: AbortSignal): Promise<void> {
    const queue = this.#queues.get(holder) ?? new Set<Waiter>()
    if (queue.size >= this.#settings.maxWaiting)
      throw new TooManyWaiting(`${queue.size} of your folders are already waiting to be read. Try again when they are done.`)
    this.#queues.set(holder, queue)
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        queue.delete(waiting)
        if (queue.size === 0) this.#queues.delete(holder)
        reject(abort!.reason)
      }
      const begin = () => {
        abort?.removeEventListener('abort', onAbort)
        resolve()
      }
      const waiting: Waiter = { begin }
      abort?.addEventListener('abort', onAbort, { once: true })
      queue.add(waiting)
    })
  }

  /** Starts the next reads. A slot is taken here, not by the waiting caller, so that no other caller can take it in between. */
  #startNext(): void {
    for (const [holder, queue] of [...this.#queues]) {
      if (!this.hasFreeSlot) return
      if (!this.#mayStart(holder)) continue
      const [first] = queue
      queue.delete(first!)
      this.#queues.delete(holder)
      if (queue.size > 0) this.#queues.set(holder, queue)
      this.#start(holder)
      first!.begin()
    }
  }
}
