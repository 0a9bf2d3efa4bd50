/** The organisation already has the maximum number of queued folders. */
export class TooManyWaiting extends Error {
  override readonly name = 'TooManyWaiting'
}

interface Waiting {
  begin(): void
}

export interface QueueSettings {
  /** Number of concurrent reads. */
  atOnce: number
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
  readonly #queues = new Map<string, Set<Waiting>>()
  readonly #underWay = new Map<string, number>()
  #busy = 0

  constructor(settings: QueueSettings) {
    this.#settings = settings
  }

  get hasRoom(): boolean {
    return this.#busy < this.#settings.atOnce
  }

  /** Resolves when it is the holder's turn, with the function that ends it. Rejects with the reason of `abort`. */
  async take(holder: string, abort?: AbortSignal): Promise<() => void> {
    abort?.throwIfAborted()
    if (this.#queues.has(holder) || !this.#mayBegin(holder)) await this.#wait(holder, abort)
    else this.#begin(holder)
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      this.#end(holder)
    }
  }

  #mayBegin(holder: string): boolean {
    const share = Math.max(1, this.#settings.atOnce - 1)
    return this.hasRoom && (this.#underWay.get(holder) ?? 0) < share
  }

  #begin(holder: string): void {
    this.#busy += 1
    this.#underWay.set(holder, (this.#underWay.get(holder) ?? 0) + 1)
  }

  #end(holder: string): void {
    this.#busy -= 1
    const left = this.#underWay.get(holder)! - 1
    if (left > 0) this.#underWay.set(holder, left)
    else this.#underWay.delete(holder)
    this.#serve()
  }

  #wait(holder: string, abort?: AbortSignal): Promise<void> {
    const queue = this.#queues.get(holder) ?? new Set<Waiting>()
    if (queue.size >= this.#settings.maxWaiting)
      throw new TooManyWaiting(`${queue.size} of your folders are already waiting to be read. Try again when they are done.`)
    this.#queues.set(holder, queue)
    return new Promise((resolve, reject) => {
      const leave = () => {
        queue.delete(waiting)
        if (queue.size === 0) this.#queues.delete(holder)
        reject(abort!.reason)
      }
      const begin = () => {
        abort?.removeEventListener('abort', leave)
        resolve()
      }
      const waiting: Waiting = { begin }
      abort?.addEventListener('abort', leave, { once: true })
      queue.add(waiting)
    })
  }

  /** Starts the next reads. A slot is taken here, not by the waiting caller, so that no other caller can take it in between. */
  #serve(): void {
    for (const [holder, queue] of [...this.#queues]) {
      if (!this.hasRoom) return
      if (!this.#mayBegin(holder)) continue
      const [first] = queue
      queue.delete(first!)
      this.#queues.delete(holder)
      if (queue.size > 0) this.#queues.set(holder, queue)
      this.#begin(holder)
      first!.begin()
    }
  }
}
