import { PartWorkers } from '../../drivers/archive/part-workers.ts'
import type { Db } from '../../platform/db/schema.ts'
import type { Job } from '../../platform/jobs/declare.ts'
import { cancelAbandonedJob, cancelAbandonedSchedule } from './cancel-abandoned.ts'
import { transferJob } from './coordinator/transfer-job.ts'
import { isCoordinator, type TransfersDeps } from './deps.ts'
import { exportJob } from './export/export-job.ts'
import { projectTransferHandlers, transferStatusHandlers, transfersHandlers } from './handlers.ts'
import { importJob } from './import/import-job.ts'
import { transfersPart } from './project-part.ts'
import { removeCopyJob } from './remove-copy.ts'
import { deleteExports, hasLeft } from './rows/side-store.ts'
import { runningTransfer } from './rows/transfer-store.ts'

export type { TransfersDeps } from './deps.ts'

/**
 * A *transfer* moves a project from a *source* to a *target* instance. The source's *export* packs the project into a *bundle* of
 * encrypted files, then stops it. The target's *import* takes a bundle, builds the project and starts it; the *cutover* adds its
 * route. Source and target do not call each other: the *coordinator*, on the self-hosted instance, copies the files and orders
 * the steps. For a bundle file the CLI does both.
 */
export function createTransfers(options: Omit<TransfersDeps, 'workers'>) {
  const deps: TransfersDeps = { ...options, workers: new PartWorkers() }
  const { db } = deps.database
  const coordinator = isCoordinator(deps) ? deps : undefined
  const jobs = [exportJob(deps), importJob(deps), removeCopyJob(deps), cancelAbandonedJob(deps)] as Job<unknown, undefined>[]
  return {
    handlers: transfersHandlers(deps),
    /** Handlers of routes that the contract lists under projects and cloud. */
    projectHandlers: coordinator ? projectTransferHandlers(coordinator) : {},
    cloudHandlers: coordinator ? transferStatusHandlers(coordinator) : {},
    jobs: coordinator ? [...jobs, transferJob(coordinator) as Job<unknown, undefined>] : jobs,
    schedules: [cancelAbandonedSchedule],
    part: transfersPart(deps),
    /** Whether the project was transferred away from this instance and has not come back. */
    hasLeft: (db: Db, projectId: string) => hasLeft(db, projectId),
    /** The transfer of a project that has not ended, coordinated by this instance. */
    running: (organizationId: string, projectId: string) => runningTransfer(db, organizationId, projectId),
    /** The project was deleted at the target: removes the copy that was kept here, with its volumes. */
    async removeCopy(projectId: string): Promise<void> {
      await deps.projects.removeCopy(projectId)
      await deleteExports(db, projectId)
    },
  }
}
