import { deletionTime } from '../../platform/jobs/clock-watch.ts'
import { job, sharedKind } from '../../platform/jobs/declare.ts'
import type { TransfersDeps } from './deps.ts'
import { findEnd, newestDeparture, openOfProject } from './rows/side-store.ts'

export const forgetKind = sharedKind<{ id: string }>('transfers.forget')
/** Days for which the stopped copy of a moved project is kept. */
export const keptDays = 7

/** Removes the kept copy of a project, unless the project came back meanwhile, or moved away again since. */
export const forgetJob = (deps: TransfersDeps) =>
  job<{ id: string }, unknown>(forgetKind, {
    deadlineMs: 3_600_000,
    maxAttempts: Number.MAX_SAFE_INTEGER,
    async run({ id }) {
      const end = await findEnd(deps.database.db, id)
      const isNewest = end?.state === 'departed' && (await newestDeparture(deps.database.db, end.projectId)) === id
      const isComing = end && (await openOfProject(deps.database.db, end.projectId)).length > 0
      const keptUntil = (end?.touchedAt ?? 0) + keptDays * 86_400_000
      if (isNewest && (await deletionTime(deps.database, deps.clock.now())) < keptUntil)
        throw new Error('the system clock jumped; the copy is kept until the clock is stable')
      if (isComing) throw new Error('the project is being transferred back; checking again later')
      if (end && isNewest) await deps.projects.forget(end.projectId)
    },
  })
