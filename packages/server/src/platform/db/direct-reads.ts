import type { Awaitable } from '../awaitable.ts'
import type { StoredRows } from './read-entries.ts'
import type { Db } from './schema.ts'

/** Reads with the driver's prepared statements, without Kysely; never used inside a transaction. */
export interface DirectReads {
  read(sql: string, parameters: readonly unknown[]): Awaitable<StoredRows>
}

const byAdapter = new WeakMap<object, DirectReads>()

/** Registers the reads of a database. The key is Kysely's adapter, which a database shares with its transactions. */
export function rememberDirectReads(db: Db, direct: DirectReads): void {
  byAdapter.set(db.getExecutor().adapter, direct)
}

export function directReadsOf(db: Db): DirectReads | undefined {
  return byAdapter.get(db.getExecutor().adapter)
}
