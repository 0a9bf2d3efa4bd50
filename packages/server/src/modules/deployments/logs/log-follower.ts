import { setTimeout as pause } from 'node:timers/promises'
import type { OutputLine } from '../../../drivers/runtime/runtime.ts'
import type { InstanceRow } from '../../../platform/db/tables/deployments.ts'
import type { DeploymentsDeps } from '../deps.ts'
import { findInstance, listInstances } from '../instance-store.ts'
import { instancesTopic } from '../run/run-units.ts'
import { LineBatch } from './line-batch.ts'
import { LogPositions } from './log-positions.ts'

/** Poll interval for new instances; the start of an instance ends the wait early. */
const pollIntervalMs = 5_000
/** First delay before the ended output of an instance is read again. It doubles each time; an event of the instance resets it. */
const firstRetryMs = 1_000
const maxRetryMs = 5 * 60_000

/** Copies the output of instances to the log store, which outlives them. Each instance is followed once, from its last position. */
export class LogFollower {
  readonly #deps: DeploymentsDeps
  readonly #positions: LogPositions
  readonly #following = new Map<string, Promise<void>>()
  /** Instances whose output ended, and when to read them again. */
  readonly #quiet = new Map<string, { pauseMs: number; until: number }>()
  readonly #stop = new AbortController()
  #changes = new AbortController()
  #loop: Promise<void> | undefined

  constructor(deps: DeploymentsDeps) {
    this.#deps = deps
    this.#positions = new LogPositions(deps)
  }

  start(): void {
    this.#loop ??= this.#readNew()
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#loop
    await Promise.allSettled(this.#following.values())
  }

  async #readNew(): Promise<void> {
    const { signal } = this.#stop
    const wake = (instanceId?: string) => {
      if (instanceId !== undefined) this.#quiet.delete(instanceId)
      this.#changes.abort()
    }
    const unsubscribers = [
      this.#deps.database.signals.subscribe<{ started: string }>(instancesTopic, (event) =>
        wake('started' in event ? event.started : undefined),
      ),
      this.#deps.runtimes.onChange(({ instance }) => wake(instance.instanceId)),
    ]
    while (!signal.aborted) {
      this.#changes = new AbortController()
      await this.#check().catch((error: unknown) =>
        this.#deps.log.warn({ err: error }, 'deployments: listing instances for log collection failed'),
      )
      await pause(pollIntervalMs, undefined, { signal: AbortSignal.any([signal, this.#changes.signal]) }).catch(() => undefined)
    }
    for (const unsubscribe of unsubscribers) unsubscribe()
  }

  async #check(): Promise<void> {
    const rows = await listInstances(this.#deps.database.db)
    const ids = new Set(rows.map(({ id }) => id))
    for (const id of this.#quiet.keys()) if (!ids.has(id)) this.#quiet.delete(id)
    const now = performance.now()
    for (const row of rows)
      if (row.state !== 'wanted' && !this.#following.has(row.id) && (this.#quiet.get(row.id)?.until ?? 0) <= now)
        this.#follow(row)
  }

  #follow(row: InstanceRow): void {
    const copying = this.#copy(row)
      .catch((error: unknown) => {
        if (!this.#stop.signal.aborted)
          this.#deps.log.warn({ err: error, instanceId: row.id }, 'deployments: log collection of an instance failed')
        // An error is not an end of output: start again with the shortest delay.
        this.#quiet.delete(row.id)
      })
      .finally(() => {
        this.#following.delete(row.id)
        const pauseMs = Math.min(maxRetryMs, (this.#quiet.get(row.id)?.pauseMs ?? firstRetryMs / 2) * 2)
        this.#quiet.set(row.id, { pauseMs, until: performance.now() + pauseMs })
      })
    this.#following.set(row.id, copying)
  }

  async #copy(row: InstanceRow): Promise<void> {
    const { runtimes, logStore, scrubbers, database } = this.#deps
    const { id, projectId, environment, deploymentId, serverId } = row
    const scrubber = await scrubbers.of(projectId)
    const position = (await findInstance(database.db, id))?.logPosition ?? null
    const batch = new LineBatch<OutputLine & { position: string }>(async (lines) => {
      const entries = lines.map(({ time, stream, message }) => ({
        time,
        stream,
        message: scrubber.scrub(message),
        environment,
        service: row.service || null,
        deploymentId,
      }))
      await logStore.append(projectId, 'runtime', entries)
      this.#positions.set(row, lines.at(-1)!.position)
      this.#quiet.delete(id)
    })
    try {
      for await (const line of runtimes.for(serverId).logs(id, position, this.#stop.signal)) {
        const flushed = batch.add(line)
        if (flushed) await flushed
      }
    } finally {
      await batch.flush().finally(() => this.#positions.save())
    }
  }
}
