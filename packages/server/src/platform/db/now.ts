import { type RawBuilder, sql } from 'kysely'
import type { Millis } from './columns.ts'

/** The database's clock in milliseconds, which control planes on several machines share. */
export function databaseNow(kind: 'sqlite' | 'postgres'): RawBuilder<Millis> {
  return kind === 'sqlite'
    ? sql<Millis>`cast(unixepoch('subsec') * 1000 as integer)`
    : sql<Millis>`cast(extract(epoch from now()) * 1000 as bigint)`
}
