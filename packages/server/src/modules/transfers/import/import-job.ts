import type { TransferEndRow } from '../../../platform/db/tables/transfers.ts'
import { job } from '../../../platform/jobs/declare.ts'
import { removeFiles } from '../bundle/bundle-files.ts'
import type { TransfersDeps } from '../deps.ts'
import { failureOf } from '../failures.ts'
import { moveEnd } from '../rows/change-state.ts'
import { findEnd, updateEnd } from '../rows/side-store.ts'
import { clearAway } from './clean-up.ts'
import { arriveKind, type EndPayload } from './import-kind.ts'
import { land } from './import-project.ts'
import { lastPass, openBundle } from './open-bundle.ts'
import { stage } from './stage.ts'

const hours = 3_600_000

/** Stages and starts the project, the slow part of an import; may run twice. */
export const arriveJob = (deps: TransfersDeps) =>
  job<EndPayload, unknown>(arriveKind, {
    deadlineMs: 12 * hours,
    concurrency: 4,
    async run({ id }, _, abort) {
      const end = await findEnd(deps.database.db, id)
      try {
        if (end?.state === 'staging') await step(end, 'staged', deps, abort)
        if (end?.state === 'landing') await step(end, 'landed', deps, abort)
      } catch (error) {
        abort.throwIfAborted()
        const failure = failureOf(error)
        if (!end || !failure) throw error
        await moveEnd(end, 'failed', deps.database, deps, { errorCode: failure.code, errorMessage: failure.message })
      }
      const now = await findEnd(deps.database.db, id)
      // The import was cancelled while this job ran, which may have recorded rows since.
      if (now?.state === 'aborted') await clearAway(now, deps)
      if (now?.state === 'active') await removeFiles(id, deps)
    },
    async onFailed({ id }, { message }) {
      const end = await findEnd(deps.database.db, id)
      deps.log.error({ transfer: id, message }, 'transfers: import failed')
      if (end)
        await moveEnd(end, 'failed', deps.database, deps, {
          errorCode: 'internal',
          errorMessage: 'The import failed. The log of the instance has the details.',
        })
    },
  })

async function step(end: TransferEndRow, to: 'staged' | 'landed', deps: TransfersDeps, abort: AbortSignal): Promise<void> {
  const bundle = await openBundle(end, to === 'staged' ? 1 : await lastPass(end, deps, abort), deps, abort)
  try {
    await (to === 'staged' ? stage : land)(end, bundle, deps, abort)
  } finally {
    await bundle.close()
  }
  // Called before the source stops: a push from now on reaches this instance, and waits here until the project has been
  // imported.
  await putHook(end, deps)
  await moveEnd(end, to, deps.database, deps)
}

async function putHook({ id, projectId, warnings }: TransferEndRow, deps: TransfersDeps): Promise<void> {
  const warning = await deps.projects.putHook(projectId)
  const known = JSON.parse(warnings) as string[]
  if (warning && !known.includes(warning))
    await updateEnd(deps.database.db, id, { warnings: JSON.stringify([...known, warning]) })
}
