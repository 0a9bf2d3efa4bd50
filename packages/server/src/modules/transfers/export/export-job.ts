import type { TransferEndRow } from '../../../platform/db/tables/transfers.ts'
import { job, sharedKind } from '../../../platform/jobs/declare.ts'
import { untilAlone } from '../../projects/index.ts'
import { removeFiles } from '../bundle/bundle-files.ts'
import type { TransfersDeps } from '../deps.ts'
import { failureOf } from '../failures.ts'
import { moveEnd } from '../rows/change-state.ts'
import { findEnd } from '../rows/side-store.ts'
import { pack } from './pack.ts'

interface EndPayload {
  id: string
}

export const departKind = sharedKind<EndPayload>('transfers.depart')
/** Unique key per step: the previous step's job may not have ended when the next one is requested. */
export const departKey = (id: string, state: TransferEndRow['state']) => `${departKind.kind}:${id}:${state}`

const hours = 3_600_000

/** Packs the project, the slow part of an export; may run twice. */
export const departJob = (deps: TransfersDeps) =>
  job<EndPayload, unknown>(departKind, {
    deadlineMs: 12 * hours,
    concurrency: 4,
    async run({ id }, _, abort) {
      const end = await findEnd(deps.database.db, id)
      try {
        if (end?.state === 'packing') await packFirst(end, deps, abort)
        if (end?.state === 'releasing') await release(end, deps, abort)
      } catch (error) {
        abort.throwIfAborted()
        const failure = failureOf(error)
        if (!end || !failure) throw error
        await moveEnd(end, 'failed', deps.database, deps, { errorCode: failure.code, errorMessage: failure.message })
      }
      await tidy(id, deps)
    },
    async onFailed({ id }, { message }) {
      const end = await findEnd(deps.database.db, id)
      deps.log.error({ transfer: id, message }, 'transfers: export failed')
      if (end)
        await moveEnd(end, 'failed', deps.database, deps, {
          errorCode: 'internal',
          errorMessage: 'The export failed. The log of the instance has the details.',
        })
    },
  })

async function packFirst(end: TransferEndRow, deps: TransfersDeps, abort: AbortSignal): Promise<void> {
  const files = await pack(end, 1, deps, abort)
  await moveEnd(end, 'packed', deps.database, deps, { files: JSON.stringify(files) })
}

/** Stops the project and packs it again: no process writes its data from here on, so this pass is complete. */
async function release(end: TransferEndRow, deps: TransfersDeps, abort: AbortSignal): Promise<void> {
  await untilAlone(end.id, deps, abort)
  await deps.data.takeOffline(end.projectId)
  const files = await pack(end, 2, deps, abort)
  await moveEnd(end, 'ready', deps.database, deps, { files: JSON.stringify(files) })
}

/** Removes the files if the export was cancelled while this job ran. */
async function tidy(id: string, deps: TransfersDeps): Promise<void> {
  const end = await findEnd(deps.database.db, id)
  if (end?.state === 'aborted' || end?.state === 'departed') await removeFiles(id, deps)
}
