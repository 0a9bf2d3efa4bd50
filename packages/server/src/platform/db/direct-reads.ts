import type { Awaitable } from '../awaitable.ts'
import type { Db } from './schema.ts'

/** A read that goes past Kysely, straight to the driver's prepared statement; never inside a transaction. */
export interface DirectReads {
  read(sql: string, parameters: readonly unknown[]): Awaitable<StoredRows>
}

export type StoredRows = readonly Readonly<Record<string, unknown>>[]

const byAdapter = new WeakMap<object, DirectReads>()

/** Kysely's adapter is the one object that a database and its transactions share. */
export function rememberDirectReads(db: Db, direct: DirectReads): void {
  byAdapter.set(db.getExecutor().adapter, direct)
}

export function directReadsOf(db: Db): DirectReads | undefined {
  return byAdapter.get(db.getExecutor().adapter)
}
