import { setTimeout as pause } from 'node:timers/promises'
import type { Hosting } from '../../tests/kit/hosting.ts'
import type { InstanceProcesses } from '../../tests/kit/instance-processes.ts'

type Role = keyof InstanceProcesses

/** Time in which a client may not have noticed the end of a kept connection. A request that it then sends counts as interrupted. */
const noticeMs = 100

/** Sends requests while processes are killed. A request that fails without a kill is a problem. */
export class Requests {
  readonly problems: string[] = []
  count = 0
  /** Requests that were under way on a killed API process. */
  cut = 0
  /** Writes that were under way on a killed worker, answered with 503. */
  unavailable = 0
  longestMs = 0
  readonly #hosting: Hosting
  readonly #killedAt: Record<Role, number> = { worker: Number.NEGATIVE_INFINITY, api: Number.NEGATIVE_INFINITY }
  /** A killed process is not back yet. */
  readonly #isAway: Record<Role, boolean> = { worker: false, api: false }
  #isOver = false

  constructor(hosting: Hosting) {
    this.#hosting = hosting
  }

  noteKill(role: Role): void {
    this.#killedAt[role] = performance.now()
    this.#isAway[role] = true
  }

  noteReturn(role: Role): void {
    this.#isAway[role] = false
  }

  stop(): void {
    this.#isOver = true
  }

  /** Sends the request again and again, until `stop`. */
  async repeat(everyMs: number, method: string, path: string, body?: object): Promise<void> {
    while (!this.#isOver) {
      await this.#send(method, path, body)
      await pause(everyMs)
    }
  }

  async #send(method: string, path: string, body: object | undefined): Promise<void> {
    const begun = performance.now()
    this.count += 1
    const wasKilled = (role: Role) => this.#killedAt[role] > begun - noticeMs
    try {
      const answer = await this.#hosting.api(method, path, body)
      // A run of the policy that is under way is 409.
      if (answer.status < 300 || answer.status === 409) return
      const isCut = method !== 'GET' && answer.status === 503 && (wasKilled('worker') || this.#isAway.worker)
      if (isCut) this.unavailable += 1
      else this.problems.push(`${method} ${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`)
    } catch (error) {
      if (wasKilled('api')) this.cut += 1
      else this.problems.push(`${method} ${path} failed: ${error} ${String((error as Error).cause)}`)
    } finally {
      this.longestMs = Math.max(this.longestMs, performance.now() - begun)
    }
  }
}
