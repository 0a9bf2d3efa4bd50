import type { Selectable } from 'kysely'
import { metricJson } from '../../../platform/db/json-columns/projects.ts'
import type { Db } from '../../../platform/db/schema.ts'
import type { MetricsTable } from '../../../platform/db/tables/projects.ts'
import { addLatency, latencyBuckets, packLatency } from '../../../platform/latency-histogram.ts'

/** All SQL of metrics. */
export type MetricRow = Selectable<MetricsTable>

export const minuteSeconds = 60
export const coarseSeconds = 1800

const batchSize = 500
const pageSize = 2_000

/** Each row replaces the one that the same counter wrote for the same span. */
export async function upsertMetrics(db: Db, rows: readonly MetricRow[]): Promise<void> {
  for (let at = 0; at < rows.length; at += batchSize)
    await db
      .insertInto('metrics')
      .values(rows.slice(at, at + batchSize))
      .onConflict((conflict) =>
        conflict.columns(['environmentId', 'spanSeconds', 'at', 'counter']).doUpdateSet(({ ref }) => ({
          requests: ref('excluded.requests'),
          errors4xx: ref('excluded.errors4xx'),
          errors5xx: ref('excluded.errors5xx'),
          bytesOut: ref('excluded.bytesOut'),
          latency: ref('excluded.latency'),
          cpuMs: ref('excluded.cpuMs'),
          observedMs: ref('excluded.observedMs'),
          memoryKb: ref('excluded.memoryKb'),
          restarts: ref('excluded.restarts'),
        })),
      )
      .execute()
}

/** Adds to the count that the same counter wrote for the minute. */
export const addRestarts = (db: Db, row: MetricRow): Promise<unknown> =>
  db
    .insertInto('metrics')
    .values(row)
    .onConflict((conflict) =>
      conflict
        .columns(['environmentId', 'spanSeconds', 'at', 'counter'])
        .doUpdateSet(({ eb, ref }) => ({ restarts: eb(ref('metrics.restarts'), '+', row.restarts) })),
    )
    .execute()

/** Environment ids by `projectId/slug`; environments that do not exist or are being deleted are left out. */
export async function environmentIds(db: Db, projectIds: readonly string[]): Promise<Map<string, string>> {
  const ids = new Map<string, string>()
  for (let at = 0; at < projectIds.length; at += batchSize) {
    const batch = projectIds.slice(at, at + batchSize)
    const rows = await db
      .selectFrom('environments')
      .select(['id', 'projectId', 'slug'])
      .where('projectId', 'in', batch)
      .where('deletingSince', 'is', null)
      .execute()
    for (const { id, projectId, slug } of rows) ids.set(`${projectId}/${slug}`, id)
  }
  return ids
}

/** Reads in pages, so that a long span does not block other queries. */
export async function* metricsWithin(db: Db, environmentId: string, from: number, to: number): AsyncGenerator<MetricRow> {
  for (const spanSeconds of [coarseSeconds, minuteSeconds]) {
    let [after, counter] = [from, '']
    for (;;) {
      const page = await db
        .selectFrom('metrics')
        .selectAll()
        .where('environmentId', '=', environmentId)
        .where('spanSeconds', '=', spanSeconds)
        .where(({ eb, or, and }) => or([eb('at', '>', after), and([eb('at', '=', after), eb('counter', '>', counter)])]))
        .where('at', '<', to)
        .orderBy('at')
        .orderBy('counter')
        .limit(pageSize)
        .execute()
      yield* page
      const last = page.at(-1)
      if (!last || page.length < pageSize) break
      after = last.at
      counter = last.counter
    }
  }
}

/** Some environments that have minute rows from before that time. */
export const environmentsWithOldMinutes = async (db: Db, before: number, limit: number): Promise<string[]> =>
  (
    await db
      .selectFrom('metrics')
      .select('environmentId')
      .distinct()
      .where('spanSeconds', '=', minuteSeconds)
      .where('at', '<', before)
      .limit(limit)
      .execute()
  ).map(({ environmentId }) => environmentId)

/** Merges the oldest minute rows from before that time into half-hour rows, one page at a time, whole minutes only. */
export async function mergeMinutes(db: Db, environmentId: string, before: number): Promise<void> {
  const page = await oldestMinutes(db, environmentId, before)
  const end = page.length < pageSize ? before : (page.at(-1)?.at ?? before)
  const minutes = page.filter(({ at }) => at < end)
  const spanStart = (row: MetricRow) => Math.floor(row.at / (coarseSeconds * 1000)) * coarseSeconds * 1000
  const spans = Map.groupBy(minutes, spanStart)
  if (spans.size === 0) return
  const existingSpans = await db
    .selectFrom('metrics')
    .selectAll()
    .where('environmentId', '=', environmentId)
    .where('spanSeconds', '=', coarseSeconds)
    .where('at', 'in', [...spans.keys()])
    .execute()
  const merged = [...spans].map(([at, rows]) => {
    const existing = existingSpans.filter((row) => row.at === at)
    return { ...sumOf([...existing, ...rows]), environmentId, at, spanSeconds: coarseSeconds, counter: 'all' }
  })
  await upsertMetrics(db, merged)
  await db
    .deleteFrom('metrics')
    .where('environmentId', '=', environmentId)
    .where('spanSeconds', '=', minuteSeconds)
    .where('at', '<', end)
    .execute()
}

const oldestMinutes = (db: Db, environmentId: string, before: number): Promise<MetricRow[]> =>
  db
    .selectFrom('metrics')
    .selectAll()
    .where('environmentId', '=', environmentId)
    .where('spanSeconds', '=', minuteSeconds)
    .where('at', '<', before)
    .orderBy('at')
    .limit(pageSize)
    .execute()

export const deleteMetricsBefore = (db: Db, spanSeconds: number, before: number) =>
  db.deleteFrom('metrics').where('spanSeconds', '=', spanSeconds).where('at', '<', before).execute()

type Summed = 'requests' | 'errors4xx' | 'errors5xx' | 'bytesOut' | 'cpuMs' | 'observedMs' | 'restarts'
type Sums = Pick<MetricRow, Summed | 'latency' | 'memoryKb'>

function sumOf(rows: readonly MetricRow[]): Sums {
  const latency = new Float64Array(latencyBuckets)
  for (const row of rows) addLatency(latency, metricJson.latency(row) ?? [])
  const packed = packLatency(latency)
  const sum = (name: Summed) => rows.reduce((total, row) => total + row[name], 0)
  return {
    requests: sum('requests'),
    errors4xx: sum('errors4xx'),
    errors5xx: sum('errors5xx'),
    bytesOut: sum('bytesOut'),
    latency: packed.length > 0 ? JSON.stringify(packed) : null,
    cpuMs: sum('cpuMs'),
    observedMs: sum('observedMs'),
    memoryKb: Math.max(...rows.map(({ memoryKb }) => memoryKb)),
    restarts: sum('restarts'),
  }
}
