import type { Generated } from 'kysely'
import type { JsonText, Millis } from '../columns.ts'

export type JobStatus = 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled'

export interface JobsTable {
  id: string
  kind: string
  payload: JsonText
  status: JobStatus
  priority: number
  /** Orders jobs of one priority that are due: strictly growing within a process. */
  sequence: number
  runAt: Millis
  scheduledFor: Millis | null
  attempts: number
  /** The organisation whose slots it uses; empty for jobs of the instance. */
  ownerId: Generated<string>
  uniqueKey: string | null
  groupKey: string | null
  /** At most `poolLimit` of a pool run at once. */
  poolKey: string | null
  poolLimit: number | null
  /** Set while running: who holds the job, and until when (by the database's clock) without another heartbeat. */
  leaseToken: string | null
  leaseUntil: Millis | null
  cancelRequested: 0 | 1
  /** Why it is ending as failed; from here on only `onFailed` runs. */
  failure: string | null
  lastError: string | null
  createdAt: Millis
  finishedAt: Millis | null
}

export interface SchedulesTable {
  key: string
  kind: string
  payload: JsonText
  cron: string | null
  timezone: string | null
  everySeconds: number | null
  nextRunAt: Millis
}

/** One row: what is known of the clock of the instance. */
export interface ClockMarksTable {
  id: string
  /** The time of the last look at the clock. */
  seenAt: Millis
  /** After a jump: deletions count with no later time. Null while the clock is steady. */
  heldAt: Millis | null
  steadySince: Millis
}

export interface JobsTables {
  clockMarks: ClockMarksTable
  jobs: JobsTable
  schedules: SchedulesTable
}
