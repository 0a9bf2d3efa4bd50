import type { PolicyBody } from '@berth/contract'
import type { Caller } from '../../http/handler.ts'
import type { Db } from '../../platform/db/schema.ts'
import type { ProjectRow } from '../../platform/db/tables/projects.ts'
import type { Job } from '../../platform/jobs/declare.ts'
import { type BackupsDeps, nowOf } from './deps.ts'
import { allDestinations } from './destinations/destination-store.ts'
import { backupsHandlers } from './handlers.ts'
import { type BackupHistory, readBackupHistory, writeBackupHistory } from './history.ts'
import { instanceBackupDueJob, instanceBackupJob } from './instance-backups/instance-backup-job.ts'
import { backupsLoaders } from './loaders.ts'
import { missedWatch } from './policies/missed.ts'
import { createPolicy } from './policies/policies.ts'
import { scheduledJob } from './policies/scheduled.ts'
import { listPolicies } from './policy-store.ts'
import { backupsPart } from './project-part.ts'
import { applyJobs } from './restores/apply-job.ts'
import { trialJobs } from './restores/trial.ts'
import { verifyJob } from './restores/verify.ts'
import { pruneAllJob, pruneJob, pruneSchedule } from './retention/prune.ts'
import { cleanUpJob } from './runs/clean-up.ts'
import { announceLostKey, keyJob, keySchedule } from './runs/lost-key.ts'
import { runBeforeDeploy, type SavedDeployment } from './runs/run-before-deploy.ts'
import { runJob } from './runs/run-job.ts'

export type { BackupsDeps } from './deps.ts'
export { ArchiveDiffers, type InstanceArchive, type OpenInstanceArchive } from './instance-archive.ts'

/**
 * Backups and restores of projects. A *policy* binds a project to a *destination*; its *run* stores *artifacts* there and a
 * *manifest* last, and succeeds only after all of it was read back. A *restore* is staged from a run, verified, and applied
 * with a token that is shown once.
 */
export function createBackups(deps: BackupsDeps) {
  return {
    handlers: backupsHandlers(deps),
    loaders: backupsLoaders(deps),
    jobs: [
      runJob(deps),
      cleanUpJob(deps),
      pruneJob(deps),
      pruneAllJob(deps),
      keyJob(deps),
      scheduledJob(deps),
      verifyJob(deps),
      ...applyJobs(deps),
      ...trialJobs(deps),
      instanceBackupDueJob(deps),
      instanceBackupJob(deps),
    ] as Job<unknown, undefined>[],
    schedules: [pruneSchedule, keySchedule],
    /** Reports a lost key at start, before a restore fails because of it. */
    start: () => announceLostKey(deps),
    part: backupsPart(deps),
    /** History for a project that is being moved: past runs and restores. */
    history: {
      read: (db: Db, projectId: string) => readBackupHistory(db, projectId),
      write: (db: Db, project: Parameters<typeof writeBackupHistory>[1], history: BackupHistory) =>
        writeBackupHistory(db, project, history, nowOf(deps)),
    },
    /** Policies of a project: they stay on this instance, with their destinations. */
    policiesOf: async (db: Db, projectId: string) => (await listPolicies(db, projectId, { limit: 100 })).rows,
    /** The organisation's destinations, oldest first. */
    destinationsOf: (organizationId: string) => allDestinations(deps.database.db, organizationId),
    createPolicy: (project: ProjectRow, body: PolicyBody, caller: Caller) => createPolicy(project, body, caller, deps),
    /** Check for backups that did not happen. */
    watched: { missed: missedWatch(deps) },
    /** Runs that a deployment waits for before it starts anything. */
    beforeDeploy: (deployment: SavedDeployment, report: (line: string) => void, abort: AbortSignal) =>
      runBeforeDeploy(deployment, report, abort, deps),
  }
}
