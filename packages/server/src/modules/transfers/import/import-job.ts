import { transferEndJson } from '../../../platform/db/json-columns/transfers.ts'
import type { TransferSideRow } from '../../../platform/db/tables/transfers.ts'
import { job, sharedKind } from '../../../platform/jobs/declare.ts'
import { removeFiles } from '../bundle/bundle-files.ts'
import type { TransfersDeps } from '../deps.ts'
import { failureOf } from '../failures.ts'
import { changeSideState } from '../rows/change-side-state.ts'
import { findSide, updateSide } from '../rows/side-store.ts'
import { cleanUp } from './clean-up.ts'
import { importProject } from './import-project.ts'
import { lastPass, openBundle } from './open-bundle.ts'
import { stage } from './stage.ts'

interface SidePayload {
  id: string
}

export const importKind = sharedKind<SidePayload>('transfers.arrive')
/** Unique key per step: the previous step's job may not have ended when the next one is requested. */
export const importKey = (id: string, state: TransferSideRow['state']) => `${importKind.kind}:${id}:${state}`

const hours = 3_600_000

/** Stages and starts the project, the slow part of an import; may run twice. */
export const importJob = (deps: TransfersDeps) =>
  job<SidePayload, unknown>(importKind, {
    deadlineMs: 12 * hours,
    concurrency: 4,
    async run({ id }, _, abort) {
      const row = await findSide(deps.database.db, id)
      try {
        if (row?.state === 'staging') await step(row, 'staged', deps, abort)
        if (row?.state === 'landing') await step(row, 'landed', deps, abort)
      } catch (error) {
        abort.throwIfAborted()
        const failure = failureOf(error)
        if (!row || !failure) throw error
        await changeSideState(row, 'failed', deps.database, deps, { errorCode: failure.code, errorMessage: failure.message })
      }
      const current = await findSide(deps.database.db, id)
      // The import was cancelled while this job ran: the job may have recorded rows after the cancel.
      if (current?.state === 'aborted') await cleanUp(current, deps)
      if (current?.state === 'active') await removeFiles(id, deps)
    },
    async onFailed({ id }, { message }) {
      const row = await findSide(deps.database.db, id)
      deps.log.error({ transfer: id, message }, 'transfers: import failed')
      if (row)
        await changeSideState(row, 'failed', deps.database, deps, {
          errorCode: 'internal',
          errorMessage: 'The import failed. The log of the instance has the details.',
        })
    },
  })

async function step(row: TransferSideRow, to: 'staged' | 'landed', deps: TransfersDeps, abort: AbortSignal): Promise<void> {
  const bundle = await openBundle(row, to === 'staged' ? 1 : await lastPass(row, deps, abort), deps, abort)
  try {
    await (to === 'staged' ? stage : importProject)(row, bundle, deps, abort)
  } finally {
    await bundle.close()
  }
  // Called before the source stops: a push from now on reaches this instance, and waits here until the project has been
  // imported.
  await addWebhook(row, deps)
  await changeSideState(row, to, deps.database, deps)
}

async function addWebhook(row: TransferSideRow, deps: TransfersDeps): Promise<void> {
  const warning = await deps.projects.addWebhook(row.projectId)
  const known = transferEndJson.warnings(row)
  if (warning && !known.includes(warning))
    await updateSide(deps.database.db, row.id, { warnings: JSON.stringify([...known, warning]) })
}
