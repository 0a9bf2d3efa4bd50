import type { TransferEndRow } from '../../../platform/db/tables/transfers.ts'
import { job, sharedKind } from '../../../platform/jobs/declare.ts'
import { untilAlone } from '../../projects/index.ts'
import type { TransfersDeps } from '../deps.ts'
import { removeFiles } from '../end-files.ts'
import { failureOf } from '../failures.ts'
import { moveEnd } from '../move-end.ts'
import { findEnd } from '../store.ts'
import { pack } from './pack.ts'

interface EndPayload {
  id: string
}

export const departKind = sharedKind<EndPayload>('transfers.depart')
/** A key a step: the job of the step before may not have ended yet when the next one is asked for. */
export const departKey = (id: string, state: TransferEndRow['state']) => `${departKind.kind}:${id}:${state}`

const hours = 3_600_000

/** The slow part of a departure; may run twice. */
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
      deps.log.error({ transfer: id, message }, 'a project could not be packed')
      if (end)
        await moveEnd(end, 'failed', deps.database, deps, {
          errorCode: 'internal',
          errorMessage: 'The project could not be packed',
        })
    },
  })

async function packFirst(end: TransferEndRow, deps: TransfersDeps, abort: AbortSignal): Promise<void> {
  const files = await pack(end, 1, deps, abort)
  await moveEnd(end, 'packed', deps.database, deps, { files: JSON.stringify(files) })
}

/** Nothing of the project runs, changes or is deployed from here on; so what is packed now is all there is. */
async function release(end: TransferEndRow, deps: TransfersDeps, abort: AbortSignal): Promise<void> {
  await untilAlone(end.id, deps, abort)
  await deps.data.takeOffline(end.projectId)
  const files = await pack(end, 2, deps, abort)
  await moveEnd(end, 'ready', deps.database, deps, { files: JSON.stringify(files) })
}

/** It was called off while this was at work. */
async function tidy(id: string, deps: TransfersDeps): Promise<void> {
  const end = await findEnd(deps.database.db, id)
  if (end?.state === 'aborted' || end?.state === 'departed') await removeFiles(id, deps)
}
