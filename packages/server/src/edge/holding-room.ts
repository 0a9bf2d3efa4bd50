/** A request that waits for its project to wake. */
export interface Held {
  readonly heldBytes: number
  /** Looks at the table again: goes on, or is held once more. */
  proceed(): void
  /** Nothing will change any more: answers that it did not wake. */
  giveUp(): void
}

const wakeAgainMs = 2_000

/** Where requests to sleeping projects wait; bounded in number and bytes. */
export class HoldingRoom {
  readonly #held = new Map<string, Map<Held, string>>()
  readonly #askedAt = new Map<string, number>()
  readonly #onWake: (projectId: string, hostname: string) => void
  #bytes = 0
  #count = 0

  constructor(onWake: (projectId: string, hostname: string) => void) {
    this.#onWake = onWake
  }

  get count(): number {
    return this.#count
  }

  /** False when there is no room. */
  enter(
    held: Held,
    projectId: string,
    hostname: string,
    limits: { heldRequests: number; heldBytes: number },
    now: number,
  ): boolean {
    if (this.#count >= limits.heldRequests || this.#bytes + held.heldBytes > limits.heldBytes) return false
    const waiting = this.#held.get(projectId) ?? new Map<Held, string>()
    this.#held.set(projectId, waiting.set(held, hostname))
    this.#count += 1
    this.#bytes += held.heldBytes
    this.#ask(projectId, hostname, now)
    return true
  }

  leave(held: Held, projectId: string): void {
    const waiting = this.#held.get(projectId)
    if (!waiting?.delete(held)) return
    this.#count -= 1
    this.#bytes -= held.heldBytes
    if (waiting.size === 0) {
      this.#held.delete(projectId)
      this.#askedAt.delete(projectId)
    }
  }

  /** A new table: everybody looks again. Who still has to wait enters once more. */
  reconsider(): void {
    const everybody = [...this.#held].flatMap(([projectId, waiting]) => [...waiting.keys()].map((held) => ({ held, projectId })))
    for (const { held, projectId } of everybody) {
      this.leave(held, projectId)
      held.proceed()
    }
  }

  /** The edge closes: nobody here would ever see a new table. */
  dismiss(): void {
    for (const waiting of [...this.#held.values()]) for (const held of [...waiting.keys()]) held.giveUp()
  }

  /** Asks again while somebody waits: the first call may have met a control plane that was down. */
  askAgain(now: number, atOnce = false): void {
    for (const [projectId, waiting] of this.#held) {
      if (atOnce) this.#askedAt.delete(projectId)
      const [hostname] = waiting.values()
      if (hostname !== undefined) this.#ask(projectId, hostname, now)
    }
  }

  #ask(projectId: string, hostname: string, now: number): void {
    const askedAt = this.#askedAt.get(projectId)
    if (askedAt !== undefined && now - askedAt < wakeAgainMs) return
    this.#askedAt.set(projectId, now)
    this.#onWake(projectId, hostname)
  }
}
