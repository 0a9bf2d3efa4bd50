import { setTimeout as pause } from 'node:timers/promises'
import type { InstanceRow } from '../../db/tables/deployments.ts'
import type { DeploymentsDeps } from './deps.ts'
import { findInstance, listInstances, noteInstance } from './store.ts'

/** How many lines or how long between two notes of how far it has read. */
const batchLines = 200
const lookMs = 1_000

/** Moves what instances write into the log store, which outlives them. Each is followed once, from where the last one stopped. */
export class LogFollower {
  readonly #deps: DeploymentsDeps
  readonly #following = new Map<string, Promise<void>>()
  readonly #stop = new AbortController()
  #loop: Promise<void> | undefined

  constructor(deps: DeploymentsDeps) {
    this.#deps = deps
  }

  start(): void {
    this.#loop ??= this.#lookForNew()
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#loop
    await Promise.allSettled(this.#following.values())
  }

  async #lookForNew(): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      try {
        for (const row of await listInstances(this.#deps.database.db))
          if (row.state !== 'wanted' && !this.#following.has(row.id)) this.#follow(row)
      } catch (error) {
        this.#deps.log.warn({ err: error }, 'instances to follow could not be read')
      }
      await pause(lookMs, undefined, { signal }).catch(() => undefined)
    }
  }

  #follow(row: InstanceRow): void {
    const run = this.#copy(row)
      .catch((error: unknown) => {
        if (!this.#stop.signal.aborted)
          this.#deps.log.warn({ err: error, instanceId: row.id }, 'the output of an instance is not followed')
      })
      .then(() => pause(lookMs, undefined, { signal: this.#stop.signal }).catch(() => undefined))
      .finally(() => this.#following.delete(row.id))
    this.#following.set(row.id, run)
  }

  async #copy(row: InstanceRow): Promise<void> {
    const { runtime, logStore, scrubber, database } = this.#deps
    const from = (await findInstance(database.db, row.id))?.logPosition ?? null
    let unnoted = 0
    let position = from
    for await (const line of runtime.logs(row.id, from, this.#stop.signal)) {
      const { time, stream } = line
      const message = scrubber.scrub(line.message)
      await logStore.append(row.projectId, 'runtime', [
        { time, stream, message, service: row.service || null, deploymentId: row.deploymentId },
      ])
      position = line.position
      if (++unnoted < batchLines) continue
      unnoted = 0
      await noteInstance(database.db, row.id, { logPosition: position })
    }
    if (position !== from) await noteInstance(database.db, row.id, { logPosition: position })
  }
}
