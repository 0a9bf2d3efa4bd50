import { job } from '../../../platform/jobs/declare.ts'
import type { Schedule } from '../../../platform/jobs/schedules.ts'
import { nowOf, type ProjectsDeps } from '../deps.ts'
import { deleteExpired } from './operation-store.ts'

type NoPayload = Record<string, never>
const kind = 'projects.sweep-operations'
export const sweepOperationsSchedule: Schedule<unknown> = {
  key: kind,
  job: { kind },
  payload: {},
  recurrence: { everySeconds: 60 },
}

/** Removes operations whose process died. Their lease has expired, so that no other operation waits for them. */
export const sweepOperationsJob = (deps: ProjectsDeps) =>
  job<NoPayload, unknown>(kind, {
    deadlineMs: 60_000,
    maxAttempts: 1,
    async run() {
      await deleteExpired(deps.database.db, nowOf(deps))
    },
  })
