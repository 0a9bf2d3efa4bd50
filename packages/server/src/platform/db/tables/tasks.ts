import type { CronRunStatus, CronRunTrigger } from '@berth/contract'
import type { Selectable } from 'kysely'
import type { Flag, JsonText, Millis } from '../columns.ts'

/** A scheduled task of a project. Its times are a row of `schedules` while it is enabled. */
export interface CronJobsTable {
  id: string
  projectId: string
  name: string
  schedule: string
  /** Text or a list of words, unchanged from the request. */
  command: JsonText<string | string[]>
  /** The environment's slug. */
  environment: string
  timezone: string
  timeoutSeconds: number
  overlap: 'skip' | 'queue'
  enabled: Flag
  /** Time of the last `task.failed` announcement since the last success; null: none. */
  failureAnnouncedAt: Millis | null
  createdBy: string | null
  createdAt: Millis
  updatedAt: Millis
}

export interface CronRunsTable {
  id: string
  cronJobId: string
  projectId: string
  environment: string
  status: CronRunStatus
  trigger: CronRunTrigger
  /** Time of the schedule, unique within the task; null: a run on request. */
  scheduledFor: Millis | null
  /** The version that runs; null before the start. */
  deploymentId: string | null
  serverId: string | null
  /** Instance in the runtime, recorded before it is started. */
  instanceId: string | null
  /** Position of the last stored line of output. */
  logPosition: string | null
  exitCode: number | null
  error: string | null
  createdAt: Millis
  startedAt: Millis | null
  finishedAt: Millis | null
}

export interface TasksTables {
  cronJobs: CronJobsTable
  cronRuns: CronRunsTable
}

export type CronJobRow = Selectable<CronJobsTable>
export type CronRunRow = Selectable<CronRunsTable>
