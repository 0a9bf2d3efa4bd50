import { shareOf } from './connection-shares.ts'

/** A request that waits for its project to wake up. */
export interface QueuedRequest {
  readonly queuedBytes: number
  /** The client that the request counts for: each client and each project has a share of the queue. */
  readonly shareClient: string
  /** Routes the request again: it continues, or is queued once more. */
  proceed(): void
  /** Responds that the project did not wake up. */
  reject(): void
}

export interface QueueLimits {
  heldRequests: number
  heldBytes: number
  clientShare: number
  projectShare: number
}

/** Queued requests of a client, of a project, or of all. */
interface QueueUsage {
  count: number
  bytes: number
}

const wakeAgainMs = 2_000

/** The queue of requests to sleeping projects; bounded in number and bytes. */
export class WakeQueue {
  readonly #queues = new Map<string, Map<QueuedRequest, string>>()
  readonly #requestedAt = new Map<string, number>()
  readonly #onWake: (projectId: string, hostname: string) => void
  readonly #total: QueueUsage = { count: 0, bytes: 0 }
  readonly #usageByOwner = new Map<string, QueueUsage>()

  constructor(onWake: (projectId: string, hostname: string) => void) {
    this.#onWake = onWake
  }

  get count(): number {
    return this.#total.count
  }

  /** False if the queue is full, or this client's or project's share of it. */
  add(request: QueuedRequest, projectId: string, hostname: string, limits: QueueLimits, now: number): boolean {
    const { queuedBytes } = request
    if (!hasSpace(this.#total, queuedBytes, limits, 1)) return false
    if (!hasSpace(this.#usageByOwner.get(`project ${projectId}`), queuedBytes, limits, limits.projectShare)) return false
    if (!hasSpace(this.#usageByOwner.get(`client ${request.shareClient}`), queuedBytes, limits, limits.clientShare)) return false
    const requests = this.#queues.get(projectId) ?? new Map<QueuedRequest, string>()
    this.#queues.set(projectId, requests.set(request, hostname))
    this.#count(request, projectId, 1)
    this.#requestWake(projectId, hostname, now)
    return true
  }

  remove(request: QueuedRequest, projectId: string): void {
    const requests = this.#queues.get(projectId)
    if (!requests?.delete(request)) return
    this.#count(request, projectId, -1)
    if (requests.size === 0) {
      this.#queues.delete(projectId)
      this.#requestedAt.delete(projectId)
    }
  }

  #count(request: QueuedRequest, projectId: string, count: 1 | -1): void {
    this.#total.count += count
    this.#total.bytes += count * request.queuedBytes
    for (const key of [`project ${projectId}`, `client ${request.shareClient}`]) {
      const usage = this.#usageByOwner.get(key) ?? { count: 0, bytes: 0 }
      usage.count += count
      usage.bytes += count * request.queuedBytes
      if (usage.count > 0) this.#usageByOwner.set(key, usage)
      else this.#usageByOwner.delete(key)
    }
  }

  /** Called with a new table: routes all requests again. Those that still have to wait are queued again. */
  rerouteAll(): void {
    const queued = [...this.#queues].flatMap(([projectId, requests]) =>
      [...requests.keys()].map((request) => ({ request, projectId })),
    )
    for (const { request, projectId } of queued) {
      this.remove(request, projectId)
      request.proceed()
    }
  }

  /** Called when the edge closes: no new table will arrive. */
  rejectAll(): void {
    for (const requests of [...this.#queues.values()]) for (const request of [...requests.keys()]) request.reject()
  }

  /** Repeats the wake-up calls while requests wait: the control plane may have been down at the first call. */
  retry(now: number, isForced = false): void {
    for (const [projectId, requests] of this.#queues) {
      if (isForced) this.#requestedAt.delete(projectId)
      const [hostname] = requests.values()
      if (hostname !== undefined) this.#requestWake(projectId, hostname, now)
    }
  }

  #requestWake(projectId: string, hostname: string, now: number): void {
    const requestedAt = this.#requestedAt.get(projectId)
    if (requestedAt !== undefined && now - requestedAt < wakeAgainMs) return
    this.#requestedAt.set(projectId, now)
    this.#onWake(projectId, hostname)
  }
}

/** Whether the bytes fit a share (0 to 1) of the queue. The first request of a client or project always fits its share. */
const hasSpace = (usage: QueueUsage | undefined, bytes: number, limits: QueueLimits, share: number) =>
  !usage ||
  (share < 1 && usage.count === 0) ||
  (usage.count < shareOf(limits.heldRequests, share) && usage.bytes + bytes <= limits.heldBytes * share)
