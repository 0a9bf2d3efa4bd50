import { deletionTime } from '../../platform/job-runner/clock-watch.ts'
import { job, sharedKind } from '../../platform/jobs/declare.ts'
import type { TransfersDeps } from './deps.ts'
import { findSide, newestExport, openSidesOfProject } from './rows/side-store.ts'

export const removeCopyKind = sharedKind<{ id: string }>('transfers.forget')
/** Days for which the stopped copy of a transferred project is kept. */
export const keptDays = 7

/** Removes the kept copy of a project, unless the project came back meanwhile, or was transferred away again since. */
export const removeCopyJob = (deps: TransfersDeps) =>
  job<{ id: string }, unknown>(removeCopyKind, {
    deadlineMs: 3_600_000,
    maxAttempts: Number.MAX_SAFE_INTEGER,
    async run({ id }) {
      const row = await findSide(deps.database.db, id)
      const isNewest = row?.state === 'departed' && (await newestExport(deps.database.db, row.projectId)) === id
      const isReturning = row && (await openSidesOfProject(deps.database.db, row.projectId)).length > 0
      const keptUntil = (row?.touchedAt ?? 0) + keptDays * 86_400_000
      if (isNewest && (await deletionTime(deps.database, deps.clock.now())) < keptUntil)
        throw new Error('the system clock jumped; the copy is kept until the clock is stable')
      if (isReturning) throw new Error('the project is being transferred back; checking again later')
      if (row && isNewest) await deps.projects.removeCopy(row.projectId)
    },
  })
