import type { CronRun } from '@berth/contract'
import { iso, isoOrNull } from '../../platform/db/columns.ts'
import type { CronRunRow } from '../../platform/db/tables/tasks.ts'

export const showRun = (row: CronRunRow): CronRun => ({
  id: row.id,
  cronJobId: row.cronJobId,
  projectId: row.projectId,
  environment: row.environment,
  status: row.status,
  trigger: row.trigger,
  scheduledFor: isoOrNull(row.scheduledFor),
  deploymentId: row.deploymentId,
  exitCode: row.exitCode,
  error: row.error,
  createdAt: iso(row.createdAt),
  startedAt: isoOrNull(row.startedAt),
  finishedAt: isoOrNull(row.finishedAt),
})
