import { shareOf } from './connection-shares.ts'

/** A request that waits for its project to wake up. */
export interface Held {
  readonly heldBytes: number
  /** The client, which has a share of the queue, as a project has. */
  readonly heldBy: string
  /** Routes the request again: it continues, or is queued once more. */
  proceed(): void
  /** Responds that the project did not wake up. */
  giveUp(): void
}

export interface RoomLimits {
  heldRequests: number
  heldBytes: number
  clientShare: number
  projectShare: number
}

/** Queued requests of a client, of a project, or of all. */
interface Part {
  count: number
  bytes: number
}

const wakeAgainMs = 2_000

/** The queue of requests to sleeping projects; bounded in number and bytes. */
export class WakeQueue {
  readonly #held = new Map<string, Map<Held, string>>()
  readonly #requestedAt = new Map<string, number>()
  readonly #onWake: (projectId: string, hostname: string) => void
  readonly #all: Part = { count: 0, bytes: 0 }
  readonly #parts = new Map<string, Part>()

  constructor(onWake: (projectId: string, hostname: string) => void) {
    this.#onWake = onWake
  }

  get count(): number {
    return this.#all.count
  }

  /** False if the queue is full, or this client's or project's share of it. */
  enter(held: Held, projectId: string, hostname: string, limits: RoomLimits, now: number): boolean {
    const { heldBytes } = held
    if (!fits(this.#all, heldBytes, limits, 1)) return false
    if (!fits(this.#parts.get(`project ${projectId}`), heldBytes, limits, limits.projectShare)) return false
    if (!fits(this.#parts.get(`client ${held.heldBy}`), heldBytes, limits, limits.clientShare)) return false
    const waiting = this.#held.get(projectId) ?? new Map<Held, string>()
    this.#held.set(projectId, waiting.set(held, hostname))
    this.#add(held, projectId, 1)
    this.#call(projectId, hostname, now)
    return true
  }

  leave(held: Held, projectId: string): void {
    const waiting = this.#held.get(projectId)
    if (!waiting?.delete(held)) return
    this.#add(held, projectId, -1)
    if (waiting.size === 0) {
      this.#held.delete(projectId)
      this.#requestedAt.delete(projectId)
    }
  }

  #add(held: Held, projectId: string, count: 1 | -1): void {
    this.#all.count += count
    this.#all.bytes += count * held.heldBytes
    for (const key of [`project ${projectId}`, `client ${held.heldBy}`]) {
      const part = this.#parts.get(key) ?? { count: 0, bytes: 0 }
      part.count += count
      part.bytes += count * held.heldBytes
      if (part.count > 0) this.#parts.set(key, part)
      else this.#parts.delete(key)
    }
  }

  /** Called with a new table: routes all requests again. Those that still have to wait are queued again. */
  reconsider(): void {
    const everybody = [...this.#held].flatMap(([projectId, waiting]) => [...waiting.keys()].map((held) => ({ held, projectId })))
    for (const { held, projectId } of everybody) {
      this.leave(held, projectId)
      held.proceed()
    }
  }

  /** Called when the edge closes: no new table will arrive. */
  dismiss(): void {
    for (const waiting of [...this.#held.values()]) for (const held of [...waiting.keys()]) held.giveUp()
  }

  /** Repeats the wake-up calls while requests wait: the control plane may have been down at the first call. */
  retry(now: number, atOnce = false): void {
    for (const [projectId, waiting] of this.#held) {
      if (atOnce) this.#requestedAt.delete(projectId)
      const [hostname] = waiting.values()
      if (hostname !== undefined) this.#call(projectId, hostname, now)
    }
  }

  #call(projectId: string, hostname: string, now: number): void {
    const requestedAt = this.#requestedAt.get(projectId)
    if (requestedAt !== undefined && now - requestedAt < wakeAgainMs) return
    this.#requestedAt.set(projectId, now)
    this.#onWake(projectId, hostname)
  }
}

/** The first request of a client or project always fits its share. */
const fits = (part: Part | undefined, bytes: number, limits: RoomLimits, share: number) =>
  !part ||
  (share < 1 && part.count === 0) ||
  (part.count < shareOf(limits.heldRequests, share) && part.bytes + bytes <= limits.heldBytes * share)
