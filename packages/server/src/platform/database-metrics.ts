import { sql } from 'kysely'
import type { Database } from './database.ts'
import { type MetricSource, metricSource } from './metrics/metric-source.ts'

/** The size of a PostgreSQL database takes milliseconds to compute, and it changes slowly. */
const sizeKeptMs = 60_000

export function databaseMetrics({ db, kind }: Pick<Database, 'db' | 'kind'>): MetricSource {
  const readSize = async (): Promise<number> => {
    const query =
      kind === 'sqlite'
        ? sql<{ bytes: number }>`select page_count * page_size as bytes from pragma_page_count(), pragma_page_size()`
        : sql<{ bytes: number }>`select pg_database_size(current_database()) as bytes`
    return Number((await query.execute(db)).rows[0]?.bytes ?? 0)
  }
  let size = { bytes: 0, at: Number.NEGATIVE_INFINITY }
  return metricSource(
    {
      berth_database_size_bytes: { type: 'gauge', help: 'Size of the database, at most a minute old.' },
      berth_database_response_seconds: { type: 'gauge', help: 'How long the database took to answer a trivial query.' },
    },
    async () => {
      const start = performance.now()
      await sql`select 1`.execute(db)
      const seconds = (performance.now() - start) / 1000
      if (start - size.at > sizeKeptMs) size = { bytes: await readSize(), at: start }
      return {
        berth_database_size_bytes: [{ labels: { kind }, value: size.bytes }],
        berth_database_response_seconds: [{ labels: { kind }, value: seconds }],
      }
    },
  )
}
