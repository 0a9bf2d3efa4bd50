import type { Generated } from 'kysely'
import type { JsonText, Millis } from '../columns.ts'

export type JobStatus = 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled'

export interface JobsTable {
  id: string
  kind: string
  payload: JsonText
  status: JobStatus
  priority: number
  /** Orders due jobs of one priority: strictly increasing within a process. */
  sequence: number
  runAt: Millis
  scheduledFor: Millis | null
  attempts: number
  /** The organisation whose slots it uses; empty for jobs of the instance. */
  ownerId: Generated<string>
  uniqueKey: string | null
  groupKey: string | null
  /** Pool name: at most `poolLimit` jobs of a pool run at once. */
  poolKey: string | null
  poolLimit: number | null
  /** The lease of a running job: its holder's token, and when it expires (by the database's clock) without another heartbeat. */
  leaseToken: string | null
  leaseUntil: Millis | null
  cancelRequested: 0 | 1
  /** Why it failed; from then on only `onFailed` runs. */
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

/** A single row: the state of the instance's clock watch. */
export interface ClockMarksTable {
  id: string
  /** Time of the last check of the clock. */
  seenAt: Millis
  /** Latest time that deletions by age may assume, after a clock jump. Null while the clock is steady. */
  heldAt: Millis | null
  steadySince: Millis
}

export interface JobsTables {
  clockMarks: ClockMarksTable
  jobs: JobsTable
  schedules: SchedulesTable
}
