import { limits } from '@berth/contract'
import { job } from '../../../platform/jobs/declare.ts'
import type { Schedule } from '../../../platform/jobs/schedules.ts'
import { nowOf, type ProjectsDeps } from '../deps.ts'
import { coarseSeconds, deleteMetricsBefore, environmentsWithOldMinutes, mergeMinutes, minuteSeconds } from './metric-rows.ts'

type NoPayload = Record<string, never>
const kind = 'projects.thin-metrics'
const dayMs = 24 * 3600_000
const coarseMs = coarseSeconds * 1000
const environmentsPerBatch = 100

/** Retention of minute rows; older ones are merged into half hours. */
export const minutesKeptMs = 2 * dayMs
export const keptMs = limits.metricDays * dayMs

export const thinSchedule: Schedule<unknown> = { key: kind, job: { kind }, payload: {}, recurrence: { everySeconds: 3600 } }

/** Merges minutes older than two days into half hours, and deletes rows older than the retention period. */
export const thinJob = (deps: ProjectsDeps) =>
  job<NoPayload, unknown>(kind, { deadlineMs: 30 * 60_000, run: (_payload, _deps, abort) => thinMetrics(deps, abort) })

export async function thinMetrics(deps: Pick<ProjectsDeps, 'database' | 'clock'>, abort?: AbortSignal): Promise<void> {
  const { database } = deps
  const now = nowOf(deps)
  for (const span of [minuteSeconds, coarseSeconds]) await deleteMetricsBefore(database.db, span, now - keptMs - coarseMs)
  const before = Math.floor((now - minutesKeptMs) / coarseMs) * coarseMs
  for (;;) {
    const environmentIds = await environmentsWithOldMinutes(database.db, before, environmentsPerBatch)
    if (environmentIds.length === 0) return
    for (const environmentId of environmentIds) {
      abort?.throwIfAborted()
      await database.transaction(async ({ db, lock }) => {
        await lock(`metrics:${environmentId}`)
        await mergeMinutes(db, environmentId, before)
      })
    }
  }
}
