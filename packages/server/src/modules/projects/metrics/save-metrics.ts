import type { TrafficMinute } from '../../../edge-proxy/protocol/traffic.ts'
import type { Database } from '../../../platform/database.ts'
import type { Db } from '../../../platform/db/schema.ts'
import { addRestarts, environmentIds, type MetricRow, minuteSeconds, upsertMetrics } from './metric-rows.ts'

/** Resource usage of an environment in one minute, as far as one control plane observed it. */
export interface UsageMinute {
  counter: string
  projectId: string
  environment: string
  /** Beginning of the minute, in milliseconds since 1970. */
  at: number
  cpuMs: number
  observedMs: number
  memoryKb: number
}

const zeroTraffic = { requests: 0, errors4xx: 0, errors5xx: 0, bytesOut: 0, latency: null }
const zeroUsage = { cpuMs: 0, observedMs: 0, memoryKb: 0, restarts: 0 }

export const saveTraffic = (minutes: readonly TrafficMinute[], database: Database): Promise<void> =>
  saveMinutes(
    minutes,
    ({ latency, requests, errors4xx, errors5xx, bytesOut }) => ({
      ...{ requests, errors4xx, errors5xx, bytesOut, latency: JSON.stringify(latency) },
      ...zeroUsage,
    }),
    database,
  )

export const saveUsage = (minutes: readonly UsageMinute[], database: Database): Promise<void> =>
  saveMinutes(
    minutes,
    ({ cpuMs, observedMs, memoryKb }) => ({ ...zeroTraffic, ...zeroUsage, cpuMs, observedMs, memoryKb }),
    database,
  )

const minuteMs = minuteSeconds * 1000

/** Counts services of an environment that exited unexpectedly; called in the transaction that records the exit. */
export async function saveRestarts(
  db: Db,
  { projectId, environment, at, count }: { projectId: string; environment: string; at: number; count: number },
): Promise<void> {
  const environmentId = (await environmentIds(db, [projectId])).get(`${projectId}/${environment}`)
  if (!environmentId) return
  const minute = Math.floor(at / minuteMs) * minuteMs
  const key = { environmentId, spanSeconds: minuteSeconds, at: minute, counter: 'restarts' }
  await addRestarts(db, { ...key, ...zeroTraffic, ...zeroUsage, restarts: count })
}

type Key = Pick<UsageMinute, 'counter' | 'projectId' | 'environment' | 'at'>

/** Stores minutes; those of a deleted environment are dropped. */
async function saveMinutes<Minute extends Key>(
  minutes: readonly Minute[],
  numbers: (minute: Minute) => Omit<MetricRow, 'environmentId' | 'spanSeconds' | 'at' | 'counter'>,
  { transaction }: Database,
): Promise<void> {
  if (minutes.length === 0) return
  await transaction(async ({ db }) => {
    const ids = await environmentIds(db, [...new Set(minutes.map(({ projectId }) => projectId))])
    const rows = minutes.flatMap((minute) => {
      const environmentId = ids.get(`${minute.projectId}/${minute.environment}`)
      if (!environmentId) return []
      return [{ environmentId, spanSeconds: minuteSeconds, at: minute.at, counter: minute.counter, ...numbers(minute) }]
    })
    // All writers use the same order, which prevents deadlocks.
    rows.sort((one, other) =>
      one.environmentId < other.environmentId ? -1 : one.environmentId > other.environmentId ? 1 : one.at - other.at,
    )
    await upsertMetrics(db, rows)
  })
}
