import type { ColumnType } from 'kysely'

/** A yes or no: 0 or 1 in both databases. Either form may be written; a read gives the number. */
export type Flag = ColumnType<0 | 1, boolean | 0 | 1, boolean | 0 | 1>

/** Milliseconds since 1970, in a `bigint` column. */
export type Millis = number

/** A stored time as the API shows it. */
export const iso = (millis: Millis): string => new Date(millis).toISOString()
export const isoOrNull = (millis: Millis | null): string | null => (millis === null ? null : iso(millis))

/** A JSON document in a `text` column; `Of` says what it holds, for the reader of the table. */
export type JsonText<Of = unknown> = ColumnType<string & { readonly json?: Of }, string, string>

/** What a parameter becomes in the database: PostgreSQL would not take a boolean for an integer column, nor SQLite at all. */
export function storedValue(value: unknown): unknown {
  return typeof value === 'boolean' ? Number(value) : value
}
