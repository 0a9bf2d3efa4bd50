import { type Clock, systemClock } from '../clock.ts'
import type { Database } from '../database.ts'
import type { Cancelled, CancelTarget } from '../jobs/cancel.ts'
import type { Job, JobKind } from '../jobs/declare.ts'
import type { Enqueued, EnqueueOptions } from '../jobs/enqueue.ts'
import { findSchedule, type Schedule, type ScheduleRow } from '../jobs/schedules.ts'
import { type Log, silentLog } from '../log.ts'
import type { MetricSource } from '../metrics/metric-source.ts'
import type { Signals } from '../signals/signals.ts'
import { missedJob } from './fire-schedules.ts'
import { JobMetrics } from './job-metrics.ts'
import { pruneJob } from './prune.ts'
import { Worker } from './worker.ts'

export interface JobsSettings<Deps> {
  database: Database
  signals: Signals
  clock?: Clock
  log?: Log
  deps: Deps
  /** Every kind that this control plane runs. Jobs of other kinds wait for a control plane that runs them. */
  jobs: readonly Job<unknown, Deps>[]
  /** Lease of a job on PostgreSQL: another process claims the job of a dead process after it. Default 30 s. */
  leaseMs?: number
  /** The maximum interval between checks of the table, in case a signal was lost. */
  pollMs?: number
  /** How long finished jobs are kept. Default 7 days. */
  keepMs?: number
}

export interface Jobs {
  /** Every kind that runs here, with its slots. */
  declared: readonly Pick<Job<unknown, never>, 'kind' | 'concurrency' | 'isShared' | 'deadlineMs'>[]
  metrics: MetricSource
  enqueue<Payload>(job: JobKind<Payload>, payload: NoInfer<Payload>, options?: EnqueueOptions): Promise<Enqueued>
  /** Undefined if the job does not exist or has ended. */
  cancel(target: CancelTarget): Promise<Cancelled | undefined>
  schedules: {
    set<Payload>(schedule: Schedule<Payload>): Promise<{ nextRunAt: Date }>
    remove(key: string): Promise<void>
    find(key: string): Promise<ScheduleRow | undefined>
  }
  start(): Promise<void>
  /** Starts no new jobs. Running jobs get the abort signal and are requeued within the grace period; the attempt is not counted. */
  stop(options?: { graceMs?: number }): Promise<void>
  /** Resolves when no job is due and none is running here; for tests and for programs that run once. */
  whenIdle(): Promise<void>
}

const dayMs = 86_400_000

export function createJobs<Deps>(settings: JobsSettings<Deps>): Jobs {
  const { database, signals, deps, clock = systemClock, log = silentLog, leaseMs = 30_000 } = settings
  // Signals within one process are not lost.
  const { pollMs = database.kind === 'sqlite' ? 60_000 : 5_000, keepMs = 7 * dayMs } = settings
  const jobs = byKind(settings.jobs)
  const prune = pruneJob<Deps>(database, keepMs, () => clock.now())
  for (const internal of [missedJob(jobs), prune]) jobs.set(internal.kind, internal as Job<unknown, Deps>)
  const metrics = new JobMetrics({ database, clock })
  const worker = new Worker({ database, signals, clock, log, deps, jobs, leaseMs, pollMs, metrics })
  const { transaction, db } = database
  return {
    declared: [...jobs.values()],
    metrics: metrics.source,
    enqueue: (job, payload, options) => transaction((context) => context.enqueue(job, payload, options)),
    cancel: (target) => transaction((context) => context.cancelJob(target)),
    schedules: {
      set: (schedule) => transaction((context) => context.schedule(schedule)),
      remove: (key) => transaction((context) => context.unschedule(key)),
      find: (key) => findSchedule(db, key),
    },
    async start() {
      await transaction((context) =>
        context.schedule({ key: 'jobs.prune', job: prune, payload: {}, recurrence: { everySeconds: 3600 } }),
      )
      await worker.start()
    },
    stop: ({ graceMs = 8_000 } = {}) => worker.stop(graceMs),
    whenIdle: () => worker.whenIdle(),
  }
}

function byKind<Deps>(declared: readonly Job<unknown, Deps>[]): Map<string, Job<unknown, Deps>> {
  const jobs = new Map<string, Job<unknown, Deps>>()
  for (const job of declared) {
    if (jobs.has(job.kind)) throw new Error(`the job ${job.kind} is declared twice`)
    jobs.set(job.kind, job)
  }
  return jobs
}
