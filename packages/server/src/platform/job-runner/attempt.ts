import type { Clock } from '../clock.ts'
import type { Database } from '../database.ts'
import { jobJson } from '../db/json-columns/jobs.ts'
import { isDatabaseUnavailable } from '../db/unavailable.ts'
import { errorMessage } from '../error-message.ts'
import { type AbortReason, type Job, JobAborted } from '../jobs/declare.ts'
import type { Log } from '../log.ts'
import type { JobMetrics } from './job-metrics.ts'
import { type Ending, endAttempt, type LeasedRow, processDiedMessage, recordFailure } from './lease.ts'

export interface AttemptParts<Deps> {
  database: Database
  clock: Clock
  log: Log
  deps: Deps
  metrics?: Pick<JobMetrics, 'record'>
}

/** A run that has not ended this long after its abort signal is abandoned: its slot and its lease are needed. */
const abandonMs = 10_000
const onFailedMs = 60_000
const lostDatabasePauseMs = 1_000
const maxErrorLength = 2_000

/** An attempt at a job, from the claim until its result is written to the row. */
export class Attempt<Deps> {
  readonly row: LeasedRow
  readonly job: Job<unknown, Deps>
  /** When the lease was last confirmed, by this process's monotonic clock. */
  confirmedAt: number
  readonly #parts: AttemptParts<Deps>
  readonly #controller = new AbortController()
  #isAbandoned = false

  constructor(row: LeasedRow, job: Job<unknown, Deps>, confirmedAt: number, parts: AttemptParts<Deps>) {
    this.row = row
    this.job = job
    this.confirmedAt = confirmedAt
    this.#parts = parts
  }

  abort(reason: AbortReason): void {
    this.#controller.abort(new JobAborted(reason))
  }

  /** Never throws. */
  async complete(): Promise<void> {
    const start = performance.now()
    const ending = await this.#work().catch((error: unknown) => this.#afterError(messageOf(error)))
    this.#parts.metrics?.record(this.row.kind, ending.as, (performance.now() - start) / 1000)
    await this.#record(ending)
  }

  /** Called after a shutdown's grace period: puts the job back into the queue, even if its run has not ended. Never throws. */
  async requeue(): Promise<void> {
    const { database, clock, log } = this.#parts
    this.#isAbandoned = true
    try {
      await endAttempt(database, this.row, { as: 'requeued' }, clock.now())
    } catch (error) {
      log.error({ err: error, jobId: this.row.id, kind: this.row.kind }, 'jobs: requeue at shutdown failed')
    }
  }

  async #work(): Promise<Ending> {
    const { row, job } = this
    if (row.cancelRequested || this.#controller.signal.aborted) return { as: 'cancelled', error: null }
    if (row.failure !== null) return await this.#endAsFailed(row.failure)
    // The process of the last attempt died before it could record the failure.
    if (row.attempts > job.maxAttempts) return await this.#endAsFailed(row.lastError ?? processDiedMessage)
    const deadline = setTimeout(() => this.abort('deadline'), job.deadlineMs)
    try {
      await runOrAbandon(this.#run(), this.#controller.signal)
    } catch (error) {
      if (!this.#controller.signal.aborted)
        return isDatabaseUnavailable(error) ? this.#afterLostDatabase(messageOf(error)) : await this.#afterError(messageOf(error))
    } finally {
      clearTimeout(deadline)
    }
    return this.#controller.signal.aborted ? await this.#afterAbort() : { as: 'succeeded' }
  }

  async #run(): Promise<void> {
    const { row, job } = this
    await job.run(jobJson.payload(row), this.#parts.deps, this.#controller.signal, {
      jobId: row.id,
      attempt: row.attempts,
      isLastAttempt: row.attempts >= job.maxAttempts,
      scheduledFor: row.scheduledFor === null ? null : new Date(row.scheduledFor),
    })
  }

  /**
   * A run that returns without an error after its abort has not finished its work; the job is retried, and at worst the work is
   * done twice.
   */
  async #afterAbort(): Promise<Ending> {
    const { reason } = this.#controller.signal.reason as JobAborted
    if (reason === 'cancelled') return { as: 'cancelled', error: null }
    if (reason === 'deadline') return await this.#afterError(`timed out after ${this.job.deadlineMs} ms`)
    return { as: 'requeued' }
  }

  /** The job did not cause the lost connection, so it is retried without a limit. */
  #afterLostDatabase(error: string): Ending {
    const { row } = this
    this.#parts.log.warn({ jobId: row.id, kind: row.kind, reason: error }, 'jobs: database not reachable, will retry')
    const runAt = new Date(this.#parts.clock.now().getTime() + lostDatabasePauseMs)
    return { as: 'retry', error, runAt, isUncounted: true }
  }

  async #afterError(error: string): Promise<Ending> {
    const { row, job } = this
    const { log, clock } = this.#parts
    if (row.attempts >= job.maxAttempts) return await this.#endAsFailed(error)
    log.warn({ jobId: row.id, kind: row.kind, attempt: row.attempts, reason: error }, 'jobs: attempt failed, will retry')
    return { as: 'retry', error, runAt: new Date(clock.now().getTime() + job.backoff(row.attempts)) }
  }

  /** Records the failure first, so that a crash inside `onFailed` leads here again and never back to `run`. */
  async #endAsFailed(failure: string): Promise<Ending> {
    const { row, job } = this
    const { database, deps, log, clock } = this.#parts
    const attempts = Math.min(row.attempts, job.maxAttempts)
    log.error({ jobId: row.id, kind: row.kind, attempts, reason: failure }, 'jobs: failed, no attempts left')
    if (!job.onFailed) return { as: 'failed', error: failure }
    try {
      if (row.failure === null && !(await recordFailure(database, row, failure))) return { as: 'requeued' }
      await withTimeout(onFailedMs, job.onFailed(jobJson.payload(row), { message: failure, attempts }, deps))
      return { as: 'failed', error: failure }
    } catch (error) {
      log.error({ err: error, jobId: row.id, kind: row.kind }, 'jobs: failure handler failed')
      return { as: 'retry', error: messageOf(error), failure, runAt: new Date(clock.now().getTime() + job.backoff(row.attempts)) }
    }
  }

  /** Retries until the row is written or another process holds the lease: a job must not stay running because one write failed. */
  async #record(ending: Ending): Promise<void> {
    const { database, clock, log } = this.#parts
    for (let pauseMs = 200; !this.#isAbandoned && !this.#isLeaseLost; pauseMs = Math.min(pauseMs * 2, 30_000)) {
      try {
        await endAttempt(database, this.row, ending, clock.now())
        return
      } catch (error) {
        log.error({ err: error, jobId: this.row.id, kind: this.row.kind }, 'jobs: result could not be saved')
        await new Promise((resolve) => setTimeout(resolve, pauseMs).unref())
      }
    }
  }

  get #isLeaseLost(): boolean {
    const { reason } = this.#controller.signal
    return reason instanceof JobAborted && reason.reason === 'lease_lost'
  }
}

/** Settles as `run` does, or rejects if `run` ignores the abort signal for too long. */
async function runOrAbandon(run: Promise<void>, abort: AbortSignal): Promise<void> {
  const abandoned = Promise.withResolvers<never>()
  let timer: NodeJS.Timeout | undefined
  const wait = () => {
    timer = setTimeout(() => abandoned.reject(new Error('the job ignored its abort signal')), abandonMs)
  }
  abort.addEventListener('abort', wait, { once: true })
  if (abort.aborted) wait()
  try {
    await Promise.race([run, abandoned.promise])
  } finally {
    clearTimeout(timer)
    abort.removeEventListener('abort', wait)
  }
}

async function withTimeout(ms: number, work: Promise<void>): Promise<void> {
  const timeout = Promise.withResolvers<never>()
  const timer = setTimeout(() => timeout.reject(new Error(`timed out after ${ms} ms`)), ms)
  try {
    await Promise.race([work, timeout.promise])
  } finally {
    clearTimeout(timer)
  }
}

const messageOf = (error: unknown): string => errorMessage(error).slice(0, maxErrorLength)
