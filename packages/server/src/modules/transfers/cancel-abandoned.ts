import type { TransferEndRow } from '../../platform/db/tables/transfers.ts'
import { job } from '../../platform/jobs/declare.ts'
import type { Schedule } from '../../platform/jobs/schedules.ts'
import { callOffEnd } from './cancel.ts'
import { isCoordinator, nowOf, type TransfersDeps } from './deps.ts'
import { deleteOverSince, listOpen } from './rows/side-store.ts'
import { isRunning } from './rows/transfer-store.ts'

type Nothing = Record<string, never>
const kind = 'transfers.sweep'
export const sweepSchedule: Schedule<unknown> = { key: kind, job: { kind }, payload: {}, recurrence: { everySeconds: 60 } }

const minutes = 60_000
const urgent: ReadonlySet<TransferEndRow['state']> = new Set(['releasing', 'ready', 'landing', 'landed', 'failed'])
/**
 * An export blocks changes of its project, and may have stopped it: cancelled after this long without a request of its driver.
 */
const silentMs = 15 * minutes
const openMs = 24 * 60 * minutes
const keptRowsMs = 60 * openMs

/**
 * Cancels moves whose driver no longer sends requests. This is safe before the commit: the driver needs this side's consent
 * before it makes the other side serve. A move that this instance drives is left to its driver, which may have been interrupted
 * after it asked the other side to serve.
 */
export const sweepJob = (deps: TransfersDeps) =>
  job<Nothing, unknown>(kind, {
    deadlineMs: 10 * minutes,
    maxAttempts: 1,
    async run() {
      for (const end of await listOpen(deps.database.db))
        if (isForgotten(end, deps) && !(isCoordinator(deps) && (await isRunning(deps.database.db, end.id))))
          await callOff(end, deps)
      await deleteOverSince(deps.database.db, nowOf(deps) - keptRowsMs)
    },
  })

function isForgotten({ side, state, touchedAt }: TransferEndRow, deps: TransfersDeps): boolean {
  return nowOf(deps) - touchedAt > (side === 'departure' || urgent.has(state) ? silentMs : openMs)
}

async function callOff(end: TransferEndRow, deps: TransfersDeps): Promise<void> {
  deps.log.warn({ transfer: end.id, projectId: end.projectId, state: end.state }, 'transfers: abandoned transfer cancelled')
  await callOffEnd(end, deps).catch((error: unknown) =>
    deps.log.warn({ err: error, transfer: end.id }, 'transfers: cancelling an abandoned transfer failed, will retry'),
  )
}
