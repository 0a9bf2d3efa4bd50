import type { ArrivalBody, ArrivalChange, DepartureBody } from '@berth/contract'
import { PartWorkers } from '../../drivers/archive/part-workers.ts'
import type { Db } from '../../platform/db/schema.ts'
import type { ProjectRow } from '../../platform/db/tables/projects.ts'
import type { Job } from '../../platform/jobs/declare.ts'
import { sweepJob, sweepSchedule } from './cancel-abandoned.ts'
import type { TransfersDeps } from './deps.ts'
import { departJob } from './export/export-job.ts'
import { changeDeparture, startDeparture } from './export/exports.ts'
import { readPacked } from './export/packed-files.ts'
import { transfersHandlers } from './handlers.ts'
import { arriveJob } from './import/import-job.ts'
import { changeArrival, openArrival } from './import/imports.ts'
import { storeFile } from './import/received-files.ts'
import { transfersPart } from './project-part.ts'
import { forgetJob } from './remove-copy.ts'
import { deleteDepartures, hasLeft } from './rows/side-store.ts'
import { endOf, showArrival, showDeparture } from './rows/sides.ts'

export type { TransfersDeps } from './deps.ts'
export { keptDays } from './remove-copy.ts'
export type TransferEnds = ReturnType<typeof createTransfers>['ends']

interface Driver {
  organizationId: string
  userId: string
}

/**
 * The two *ends* of a move. A *departure* (export) packs a project into a *bundle* of encrypted files, then stops it; an
 * *arrival* (import) takes a bundle, builds the project, starts it and adds its route. Neither knows the other: the *driver*
 * carries the files over.
 */
export function createTransfers(given: Omit<TransfersDeps, 'workers'>) {
  const deps: TransfersDeps = { ...given, workers: new PartWorkers() }
  return {
    handlers: transfersHandlers(deps),
    jobs: [departJob(deps), arriveJob(deps), forgetJob(deps), sweepJob(deps)] as Job<unknown, undefined>[],
    schedules: [sweepSchedule],
    part: transfersPart(deps),
    /** Whether the project was moved away from this instance and has not come back. */
    hasLeft: (db: Db, projectId: string) => hasLeft(db, projectId),
    /** The ends of this instance, for a driver on this instance. */
    ends: {
      /** The project was deleted on the other instance: the copy that was kept here is removed, with its volumes. */
      async forget(projectId: string): Promise<void> {
        await deps.projects.forget(projectId)
        await deleteDepartures(deps.database.db, projectId)
      },
      depart: async (project: ProjectRow, body: DepartureBody, userId: string) =>
        showDeparture(await startDeparture(project, body, userId, deps)),
      getDeparture: async (id: string, driver: Driver) => showDeparture(await endOf(id, 'departure', driver, deps)),
      changeDeparture: async (id: string, driver: Driver, state: Parameters<typeof changeDeparture>[1]) =>
        showDeparture(await changeDeparture(await endOf(id, 'departure', driver, deps), state, deps)),
      readFile: async (id: string, driver: Driver, name: string) =>
        readPacked(await endOf(id, 'departure', driver, deps), name, deps),
      arrive: async (id: string, body: ArrivalBody, driver: Driver) =>
        showArrival(await openArrival(id, body, driver, deps), deps),
      getArrival: async (id: string, driver: Driver) => showArrival(await endOf(id, 'arrival', driver, deps), deps),
      changeArrival: async (id: string, driver: Driver, change: ArrivalChange) =>
        showArrival(await changeArrival(await endOf(id, 'arrival', driver, deps), change, deps), deps),
      writeFile: async (id: string, driver: Driver, name: string, sha256: string, bytes: AsyncIterable<Uint8Array>) =>
        storeFile(await endOf(id, 'arrival', driver, deps), name, sha256, bytes, deps),
    },
  }
}
