import { randomUUID } from 'node:crypto'
import { setImmediate as yieldToOthers } from 'node:timers/promises'
import type { Millis } from '../db/columns.ts'
import type { Job } from '../jobs/declare.ts'
import { type JobsSignal, jobsTopic } from '../jobs/enqueue.ts'
import { isQueued } from '../jobs/statuses.ts'
import { isReread, type Reread, type Signals } from '../signals/signals.ts'
import { recomputeSchedules, shiftJobs } from './after-jump.ts'
import { Attempt, type AttemptParts } from './attempt.ts'
import { claimNext, dueKinds } from './claim.ts'
import { ClockWatch, jumpMs } from './clock-watch.ts'
import { fireSchedules } from './fire-schedules.ts'
import { renewAttempts } from './heartbeat.ts'
import { type JobRow, type LeasedRow, recoverDead, untilNextExpiry } from './lease.ts'
import { Shares } from './shares.ts'
import { Wakeup } from './wakeup.ts'

const minSleepMs = 10

export interface WorkerParts<Deps> extends AttemptParts<Deps> {
  signals: Signals
  jobs: ReadonlyMap<string, Job<unknown, Deps>>
  leaseMs: number
  /** The longest sleep: after it the worker checks whether a signal was lost. */
  pollMs: number
}

/** Claims due jobs, renews their leases and starts schedules, until it is stopped. */
export class Worker<Deps> {
  readonly #parts: WorkerParts<Deps>
  /** Attempts by lease token. */
  readonly #attempts = new Map<string, Attempt<Deps>>()
  readonly #completions = new Set<Promise<void>>()
  readonly #wakeup = new Wakeup()
  readonly #shares: Shares
  readonly #clockWatch: ClockWatch
  /** Ids of jobs whose cancellation was signalled since the last claim began; one of them may be the job that is being claimed. */
  readonly #recentCancels = new Set<string>()
  /** Monotonic time of the next check for dead processes and lost signals. */
  #sweepAt = 0
  #nextSchedule: Millis = 0
  /** When the current series of batches of due schedules began. */
  #firingSince: Date | undefined
  /** Size of a clock jump that schedules and jobs have not been adjusted for yet. */
  #unhandledJumpMs: Millis = 0
  #idleWaiters: (() => void)[] = []
  #state: 'new' | 'started' | 'stopping' = 'new'
  #loop: Promise<void> | undefined
  #heartbeat: NodeJS.Timeout | undefined
  #unsubscribe: (() => void) | undefined

  constructor(parts: WorkerParts<Deps>) {
    this.#parts = parts
    this.#shares = new Shares(parts.jobs.values(), parts.database)
    this.#clockWatch = new ClockWatch(parts.database, parts.clock)
  }

  async start(): Promise<void> {
    if (this.#state !== 'new') throw new Error('the jobs were started already')
    this.#state = 'started'
    const { database, signals, leaseMs, log, clock } = this.#parts
    if (database.kind === 'sqlite') {
      const count = await recoverDead(database, { whose: 'all', except: [], now: clock.now() })
      if (count > 0) log.info({ count }, 'jobs: jobs of the previous process queued again')
    }
    await this.#adjustToClock({ isStart: true })
    this.#unsubscribe = signals.subscribe<JobsSignal>(jobsTopic, (event) => this.#onSignal(event))
    this.#heartbeat = setInterval(() => void renewAttempts(this.#parts, this.#attempts), leaseMs / 3)
    this.#loop = this.#work()
  }

  async stop(graceMs: number): Promise<void> {
    if (this.#state !== 'started') return
    this.#state = 'stopping'
    this.#unsubscribe?.()
    this.#wakeup.ring()
    for (const resolve of this.#idleWaiters.splice(0)) resolve()
    for (const attempt of this.#attempts.values()) attempt.abort('shutdown')
    await withinGrace(graceMs, async () => {
      await this.#loop
      await Promise.all(this.#completions)
    })
    clearInterval(this.#heartbeat)
    await withinGrace(2_000, async () => {
      // A claim that was sent before the stop may be answered after the grace period; its lease would block the job for `leaseMs`.
      await this.#loop
      await Promise.all([...this.#attempts.values()].map((attempt) => attempt.requeue()))
    })
  }

  /** Resolves when no job is due and none is running in this process. */
  whenIdle(): Promise<void> {
    return new Promise((resolve) => {
      this.#idleWaiters.push(resolve)
      this.#wakeup.ring()
    })
  }

  #onSignal(event: JobsSignal | Reread): void {
    if ('cancel' in event) this.#abortJob(event.cancel)
    if ('schedules' in event) this.#nextSchedule = 0
    if (isReread(event)) {
      this.#sweepAt = 0
      void renewAttempts(this.#parts, this.#attempts)
    }
    this.#wakeup.ring()
  }

  async #work(): Promise<void> {
    let failures = 0
    while (this.#state === 'started') {
      try {
        await this.#wakeup.sleep(await this.#round())
        failures = 0
      } catch (error) {
        failures++
        this.#parts.log.error({ err: error }, 'jobs: reading the queue failed')
        await this.#wakeup.sleep(Math.min(100 * 2 ** failures, 10_000))
      }
    }
  }

  /** Does all due work; returns the milliseconds until more is due. */
  async #round(): Promise<number> {
    const { clock } = this.#parts
    await this.#adjustToClock()
    if (this.#isSweepDue) await this.#sweep()
    if (this.#isScheduleDue) await this.#fireSchedules()
    await this.#claimAll()
    const upcoming = await this.#nextRunAt()
    const now = clock.now().getTime()
    return Math.max(0, Math.min(this.#sweepAt - performance.now(), this.#nextSchedule - now, upcoming - now))
  }

  /** Corrects the times of schedules and jobs that were set while the clock was ahead, also when a previous process set them. */
  async #adjustToClock({ isStart = false } = {}): Promise<void> {
    const { database, clock, log } = this.#parts
    const byMs = await this.#clockWatch.check()
    if (byMs !== undefined) {
      log.warn({ bySeconds: Math.round(byMs / 1000), now: clock.now().toISOString() }, 'jobs: system clock jumped')
      this.#unhandledJumpMs += byMs
    }
    if (!isStart && this.#unhandledJumpMs === 0) return
    const now = clock.now()
    if (this.#unhandledJumpMs < 0) await shiftJobs(database, now, -this.#unhandledJumpMs, jumpMs)
    const count = await recomputeSchedules(database, now)
    if (count > 0) log.warn({ count }, 'jobs: schedules recomputed, the clock was ahead when they were set')
    this.#unhandledJumpMs = 0
    this.#nextSchedule = 0
  }

  /** Detects events without a signal: a control plane that died, or a lost signal. */
  async #sweep(): Promise<void> {
    const { database, clock, pollMs } = this.#parts
    const except = [...this.#attempts.keys()]
    await recoverDead(database, { whose: 'expired', except, now: clock.now() })
    const expiry = (await untilNextExpiry(database, except)) ?? pollMs
    this.#sweepAt = performance.now() + Math.min(pollMs, Math.max(expiry, minSleepMs))
    this.#nextSchedule = 0
  }

  get #isSweepDue(): boolean {
    return performance.now() >= this.#sweepAt
  }

  get #isScheduleDue(): boolean {
    return this.#parts.clock.now().getTime() >= this.#nextSchedule
  }

  async #fireSchedules(): Promise<void> {
    const { database, jobs, clock, log } = this.#parts
    // A signal that arrives from now on resets this to 0.
    this.#nextSchedule = Number.POSITIVE_INFINITY
    try {
      const now = clock.now()
      const since = this.#firingSince ?? now
      const next = await fireSchedules(database, jobs, { now, since, log })
      const hasMore = next !== undefined && next <= now
      this.#firingSince = hasMore ? since : undefined
      if (next) this.#nextSchedule = Math.min(this.#nextSchedule, next.getTime())
    } catch (error) {
      this.#nextSchedule = 0
      throw error
    }
  }

  /**
   * Claims until no job is due. Idle waiters resolve when a claim that began with no running job and no due schedule found no job.
   */
  async #claimAll(): Promise<void> {
    while (this.#state === 'started') {
      const waiting = this.#attempts.size === 0 && !this.#isScheduleDue ? this.#idleWaiters.length : 0
      if (await this.#claim()) {
        // Without this, jobs that use only SQLite would run one after another and block the event loop.
        await yieldToOthers()
        // Schedules and recovery must not wait: while jobs end as fast as they are claimed, this loop does not end.
        if (this.#isScheduleDue || this.#isSweepDue) return
        continue
      }
      for (const resolve of this.#idleWaiters.splice(0, waiting)) resolve()
      return
    }
  }

  /** True if a job was claimed, so that there may be more. */
  async #claim(): Promise<boolean> {
    const { database, clock, leaseMs } = this.#parts
    const kinds = await dueKinds(database, clock.now())
    if (kinds.size === 0) return false
    for (const owners of await this.#shares.claimOrders(kinds, this.#running)) {
      const claimedAt = performance.now()
      this.#recentCancels.clear()
      const row = await claimNext(database, { owners, now: clock.now(), token: randomUUID(), leaseMs })
      if (row === 'taken') return true
      if (!row) continue
      this.#shares.noteServed(row)
      this.#begin(row, claimedAt)
      return true
    }
    return false
  }

  #begin(row: LeasedRow, claimedAt: number): void {
    const attempt = new Attempt(row, this.#parts.jobs.get(row.kind) as Job<unknown, Deps>, claimedAt, this.#parts)
    this.#attempts.set(row.leaseToken, attempt)
    // Claimed during the stop: `stop` puts the job back into the queue.
    if (this.#state === 'stopping') return
    if (this.#recentCancels.has(row.id)) attempt.abort('cancelled')
    const completion = attempt.complete().then(() => this.#completed(attempt))
    this.#completions.add(completion)
    void completion.finally(() => this.#completions.delete(completion))
  }

  #completed(attempt: Attempt<Deps>): void {
    this.#attempts.delete(attempt.row.leaseToken)
    this.#wakeup.ring()
    // Other jobs may be waiting for the group.
    if (attempt.row.groupKey !== null) this.#parts.signals.publish(jobsTopic, { due: true } satisfies JobsSignal)
  }

  get #running(): JobRow[] {
    return [...this.#attempts.values()].map(({ row }) => row)
  }

  /**
   * Earliest future start among the kinds with a free slot. A job that is already due is waiting for its group, whose end wakes the
   * worker.
   */
  async #nextRunAt(): Promise<Millis> {
    const { database, clock } = this.#parts
    const kinds = this.#shares.freeKinds(this.#running)
    if (kinds.length === 0) return Number.POSITIVE_INFINITY
    const row = await database.db
      .selectFrom('jobs')
      .select((eb) => eb.fn.min('runAt').as('runAt'))
      .where('status', '=', isQueued)
      .where('kind', 'in', kinds)
      .where('runAt', '>', clock.now().getTime())
      .executeTakeFirst()
    return row?.runAt ?? Number.POSITIVE_INFINITY
  }

  #abortJob(id: string): void {
    this.#recentCancels.add(id)
    for (const attempt of this.#attempts.values()) if (attempt.row.id === id) attempt.abort('cancelled')
  }
}

async function withinGrace(graceMs: number, work: () => Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const grace = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, graceMs)
  })
  await Promise.race([work(), grace])
  clearTimeout(timer)
}
