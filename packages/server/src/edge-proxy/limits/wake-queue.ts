import { shareOf } from './connection-shares.ts'

/** A request that waits for its project to wake. */
export interface Held {
  readonly heldBytes: number
  /** Whose it is: one client has a share of the room, as one project has. */
  readonly heldBy: string
  /** Looks at the table again: goes on, or is held once more. */
  proceed(): void
  /** Nothing will change any more: answers that it did not wake. */
  giveUp(): void
}

export interface RoomLimits {
  heldRequests: number
  heldBytes: number
  clientShare: number
  projectShare: number
}

/** What somebody has in the room. */
interface Part {
  count: number
  bytes: number
}

const wakeAgainMs = 2_000

/** Where requests to sleeping projects wait; bounded in number and bytes. */
export class WakeQueue {
  readonly #held = new Map<string, Map<Held, string>>()
  readonly #askedAt = new Map<string, number>()
  readonly #onWake: (projectId: string, hostname: string) => void
  readonly #all: Part = { count: 0, bytes: 0 }
  readonly #parts = new Map<string, Part>()

  constructor(onWake: (projectId: string, hostname: string) => void) {
    this.#onWake = onWake
  }

  get count(): number {
    return this.#all.count
  }

  /** False when there is no room, or none for this client or this project. */
  enter(held: Held, projectId: string, hostname: string, limits: RoomLimits, now: number): boolean {
    const { heldBytes } = held
    if (!fits(this.#all, heldBytes, limits, 1)) return false
    if (!fits(this.#parts.get(`project ${projectId}`), heldBytes, limits, limits.projectShare)) return false
    if (!fits(this.#parts.get(`client ${held.heldBy}`), heldBytes, limits, limits.clientShare)) return false
    const waiting = this.#held.get(projectId) ?? new Map<Held, string>()
    this.#held.set(projectId, waiting.set(held, hostname))
    this.#add(held, projectId, 1)
    this.#ask(projectId, hostname, now)
    return true
  }

  leave(held: Held, projectId: string): void {
    const waiting = this.#held.get(projectId)
    if (!waiting?.delete(held)) return
    this.#add(held, projectId, -1)
    if (waiting.size === 0) {
      this.#held.delete(projectId)
      this.#askedAt.delete(projectId)
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

/** The first of somebody's requests always fits a share. */
const fits = (part: Part | undefined, bytes: number, limits: RoomLimits, share: number) =>
  !part ||
  (share < 1 && part.count === 0) ||
  (part.count < shareOf(limits.heldRequests, share) && part.bytes + bytes <= limits.heldBytes * share)
