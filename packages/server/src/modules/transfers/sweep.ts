import type { TransferEndRow } from '../../platform/db/tables/transfers.ts'
import { job } from '../../platform/jobs/declare.ts'
import type { Schedule } from '../../platform/jobs/schedules.ts'
import { abortArrival } from './arrivals/arrivals.ts'
import { keep } from './departures/departures.ts'
import { nowOf, type TransfersDeps } from './deps.ts'
import { deleteOverSince, listOpen } from './store.ts'

type Nothing = Record<string, never>
const kind = 'transfers.sweep'
export const sweepSchedule: Schedule<unknown> = { key: kind, job: { kind }, payload: {}, rhythm: { everySeconds: 60 } }

const minutes = 60_000
/** A project that was stopped for a move serves again when whoever drives the move is silent for that long. */
const stoppedMs = 15 * minutes
const openMs = 24 * 60 * minutes
const keptRowsMs = 60 * openMs

/**
 * Whoever drives a move may go away for good. Before the move is committed, its ends are taken back here: the driver asks this
 * side for its word before it makes the other side serve.
 */
export const sweepJob = (deps: TransfersDeps) =>
  job<Nothing, unknown>(kind, {
    deadlineMs: 10 * minutes,
    maxAttempts: 1,
    async run() {
      for (const end of await listOpen(deps.database.db)) if (isForgotten(end, deps)) await callOff(end, deps)
      await deleteOverSince(deps.database.db, nowOf(deps) - keptRowsMs)
    },
  })

function isForgotten({ state, touchedAt }: TransferEndRow, deps: TransfersDeps): boolean {
  const isStopped = state === 'releasing' || state === 'ready' || state === 'failed'
  return nowOf(deps) - touchedAt > (isStopped ? stoppedMs : openMs)
}

async function callOff(end: TransferEndRow, deps: TransfersDeps): Promise<void> {
  deps.log.warn(
    { transfer: end.id, projectId: end.projectId, state: end.state },
    'a move that nobody drives any more is called off',
  )
  await (end.side === 'departure' ? keep : abortArrival)(end, deps).catch((error: unknown) =>
    deps.log.warn({ err: error, transfer: end.id }, 'a move could not be called off yet'),
  )
}
