import type { ColumnType } from 'kysely'

/** A boolean, stored as 0 or 1 in both databases. A write may pass a boolean or the number; a read returns the number. */
export type Flag = ColumnType<0 | 1, boolean | 0 | 1, boolean | 0 | 1>

/** Milliseconds since 1970, in a `bigint` column. */
export type Millis = number

/** A stored time as the API shows it. */
export const iso = (millis: Millis): string => new Date(millis).toISOString()
export const isoOrNull = (millis: Millis | null): string | null => (millis === null ? null : iso(millis))

/** A JSON document in a `text` column; `Of` documents its type. */
export type JsonText<Of = unknown> = ColumnType<string & { readonly json?: Of }, string, string>

/** The stored form of a query parameter: neither PostgreSQL's integer columns nor SQLite accept a boolean. */
export function storedValue(value: unknown): unknown {
  return typeof value === 'boolean' ? Number(value) : value
}
