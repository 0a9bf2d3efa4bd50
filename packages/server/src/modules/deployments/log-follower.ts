import { setTimeout as pause } from 'node:timers/promises'
import type { InstanceRow } from '../../platform/db/tables/deployments.ts'
import type { DeploymentsDeps } from './deps.ts'
import { instancesTopic } from './run-units.ts'
import { findInstance, listInstances, updateInstance } from './store.ts'

/** Between two looks for new instances, and between two notes of how far it has read. */
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
      await this.#untilNews(signal)
    }
  }

  /** What ends as soon as it has started is read as well: its start is news. */
  async #untilNews(signal: AbortSignal): Promise<void> {
    const news = new AbortController()
    const unsubscribe = this.#deps.database.signals.subscribe(instancesTopic, () => news.abort())
    await pause(lookMs, undefined, { signal: AbortSignal.any([signal, news.signal]) }).catch(() => undefined)
    unsubscribe()
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
    const { runtimes, logStore, scrubbers, database } = this.#deps
    const scrubber = await scrubbers.of(row.projectId)
    const from = (await findInstance(database.db, row.id))?.logPosition ?? null
    let position = from
    let noted = from
    const note = async () => {
      if (position === noted) return
      noted = position
      await updateInstance(database.db, row.id, { logPosition: position })
    }
    const noting = setInterval(() => void note().catch(() => undefined), lookMs)
    try {
      for await (const line of runtimes.for(row.serverId).logs(row.id, from, this.#stop.signal)) {
        const { time, stream } = line
        const message = scrubber.scrub(line.message)
        await logStore.append(row.projectId, 'runtime', [
          { time, stream, message, service: row.service || null, deploymentId: row.deploymentId },
        ])
        position = line.position
      }
    } finally {
      clearInterval(noting)
      await note()
    }
  }
}
