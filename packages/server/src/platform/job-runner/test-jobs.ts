import { onTestFinished } from 'vitest'
import type { Clock } from '../clock.ts'
import type { Database } from '../database.ts'
import { type Job, type JobOptions, job, type SharedKind } from '../jobs/declare.ts'
import { createJobs, type Jobs, type JobsSettings } from './create-jobs.ts'
import type { JobRow } from './lease.ts'

/** Test support: a started control plane with these jobs, stopped after the test. */
export async function startJobs(
  database: Database,
  declared: readonly Job<unknown, undefined>[],
  settings: Partial<JobsSettings<undefined>> = {},
): Promise<Jobs> {
  const jobs = createJobs({ database, signals: database.signals, deps: undefined, jobs: declared, pollMs: 200, ...settings })
  onTestFinished(() => jobs.stop({ graceMs: 200 }))
  await jobs.start()
  return jobs
}

export function testJob<Payload = unknown>(
  kind: string | SharedKind<Payload>,
  options: Partial<JobOptions<Payload, undefined>>,
): Job<Payload, undefined> {
  return job<Payload, undefined>(kind, { deadlineMs: 20_000, backoff: () => 1, run: async () => {}, ...options })
}

export async function readJob({ db }: Database, id: string): Promise<JobRow> {
  return await db.selectFrom('jobs').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
}

/** A clock that changes only by `advance`. */
export function manualClock(start = '2030-01-01T00:00:00Z'): Clock & { advance(ms: number): void } {
  let now = new Date(start).getTime()
  return {
    now: () => new Date(now),
    advance: (ms) => {
      now += ms
    },
  }
}

/** Settles when the signal fires, with its reason. */
export function aborted(abort: AbortSignal): Promise<unknown> {
  return new Promise((resolve) => {
    if (abort.aborted) resolve(abort.reason)
    abort.addEventListener('abort', () => resolve(abort.reason))
  })
}
