import type { TransferSideRow } from '../../../platform/db/tables/transfers.ts'
import { job, sharedKind } from '../../../platform/jobs/declare.ts'
import { waitUntilAlone } from '../../projects/index.ts'
import { removeFiles } from '../bundle/bundle-files.ts'
import type { TransfersDeps } from '../deps.ts'
import { failureOf } from '../failures.ts'
import { changeSideState } from '../rows/change-side-state.ts'
import { findSide } from '../rows/side-store.ts'
import { pack } from './pack.ts'

interface SidePayload {
  id: string
}

export const exportKind = sharedKind<SidePayload>('transfers.depart')
/** Unique key per step: the previous step's job may not have ended when the next one is requested. */
export const exportKey = (id: string, state: TransferSideRow['state']) => `${exportKind.kind}:${id}:${state}`

const hours = 3_600_000

/** Packs the project, the slow part of an export; may run twice. */
export const exportJob = (deps: TransfersDeps) =>
  job<SidePayload, unknown>(exportKind, {
    deadlineMs: 12 * hours,
    concurrency: 4,
    async run({ id }, _, abort) {
      const row = await findSide(deps.database.db, id)
      try {
        if (row?.state === 'packing') await packFirst(row, deps, abort)
        if (row?.state === 'releasing') await release(row, deps, abort)
      } catch (error) {
        abort.throwIfAborted()
        const failure = failureOf(error)
        if (!row || !failure) throw error
        await changeSideState(row, 'failed', deps.database, deps, { errorCode: failure.code, errorMessage: failure.message })
      }
      await cleanUpExport(id, deps)
    },
    async onFailed({ id }, { message }) {
      const row = await findSide(deps.database.db, id)
      deps.log.error({ transfer: id, message }, 'transfers: export failed')
      if (row)
        await changeSideState(row, 'failed', deps.database, deps, {
          errorCode: 'internal',
          errorMessage: 'The export failed. The log of the instance has the details.',
        })
    },
  })

async function packFirst(row: TransferSideRow, deps: TransfersDeps, abort: AbortSignal): Promise<void> {
  const files = await pack(row, 1, deps, abort)
  await changeSideState(row, 'packed', deps.database, deps, { files: JSON.stringify(files) })
}

/** Stops the project and packs it again: no process writes its data from here on, so this pass is complete. */
async function release(row: TransferSideRow, deps: TransfersDeps, abort: AbortSignal): Promise<void> {
  await waitUntilAlone(row.id, deps, abort)
  await deps.data.takeOffline(row.projectId)
  const files = await pack(row, 2, deps, abort)
  await changeSideState(row, 'ready', deps.database, deps, { files: JSON.stringify(files) })
}

/** Removes the files if the export was cancelled while this job ran. */
async function cleanUpExport(id: string, deps: TransfersDeps): Promise<void> {
  const row = await findSide(deps.database.db, id)
  if (row?.state === 'aborted' || row?.state === 'departed') await removeFiles(id, deps)
}
