import type { TransferSideRow } from '../../platform/db/tables/transfers.ts'
import { job } from '../../platform/jobs/declare.ts'
import type { Schedule } from '../../platform/jobs/schedules.ts'
import { cancelSide } from './cancel.ts'
import { isCoordinator, nowOf, type TransfersDeps } from './deps.ts'
import { deleteEndedBefore, openSides } from './rows/side-store.ts'
import { isRunning } from './rows/transfer-store.ts'

type NoPayload = Record<string, never>
const kind = 'transfers.sweep'
export const cancelAbandonedSchedule: Schedule<unknown> = {
  key: kind,
  job: { kind },
  payload: {},
  recurrence: { everySeconds: 60 },
}

const minutes = 60_000
const days = 24 * 60 * minutes
/** States in which the source has stopped the project, or no further step follows. */
const urgent: ReadonlySet<TransferSideRow['state']> = new Set(['releasing', 'ready', 'landing', 'landed', 'failed'])
/**
 * Time without a request of the coordinator after which an export, or a transfer in an urgent state, is cancelled. An export blocks
 * changes of its project, and may have stopped the project.
 */
const urgentAbandonedMs = 15 * minutes
const importAbandonedMs = 1 * days
const keptRowsMs = 60 * days

/**
 * Cancels transfers whose coordinator no longer sends requests. This is safe before the cutover: the coordinator needs this
 * side's consent before it makes the other side serve. A transfer that this instance coordinates is left to its job, which may
 * have been interrupted after it requested that the other side serves.
 */
export const cancelAbandonedJob = (deps: TransfersDeps) =>
  job<NoPayload, unknown>(kind, {
    deadlineMs: 10 * minutes,
    maxAttempts: 1,
    async run() {
      for (const row of await openSides(deps.database.db))
        if (isAbandoned(row, deps) && !(isCoordinator(deps) && (await isRunning(deps.database.db, row.id))))
          await cancelAbandoned(row, deps)
      await deleteEndedBefore(deps.database.db, nowOf(deps) - keptRowsMs)
    },
  })

function isAbandoned({ side, state, touchedAt }: TransferSideRow, deps: TransfersDeps): boolean {
  return nowOf(deps) - touchedAt > (side === 'departure' || urgent.has(state) ? urgentAbandonedMs : importAbandonedMs)
}

async function cancelAbandoned(row: TransferSideRow, deps: TransfersDeps): Promise<void> {
  deps.log.warn({ transfer: row.id, projectId: row.projectId, state: row.state }, 'transfers: abandoned transfer cancelled')
  await cancelSide(row, deps).catch((error: unknown) =>
    deps.log.warn({ err: error, transfer: row.id }, 'transfers: cancelling an abandoned transfer failed, will retry'),
  )
}
