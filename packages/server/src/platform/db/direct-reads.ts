import type { CompiledQuery } from 'kysely'
import type { Awaitable } from '../awaitable.ts'
import type { StoredRows } from './read-entries.ts'
import type { Db, Tx } from './schema.ts'

/** Reads with the driver's prepared statements, without Kysely; never used inside a transaction. */
export interface DirectReads {
  read(sql: string, parameters: readonly unknown[]): Awaitable<StoredRows>
  /** Called once for each prepared statement, before its first run: also for one that writes, or runs in a transaction only. */
  notePrepared?(sql: string): void
}

export type PreparedStatement = Pick<CompiledQuery, 'sql' | 'query'>

/** Runs the prepared statements of one transaction at once, without Kysely's queue. */
export interface DirectStatements {
  run(statement: PreparedStatement, parameters: readonly unknown[]): StoredRows
}

const byAdapter = new WeakMap<object, DirectReads>()
const byTransaction = new WeakMap<Db, DirectStatements>()

/** Registers the reads of a database. The key is Kysely's adapter, which a database shares with its transactions. */
export function rememberDirectReads(db: Db, direct: DirectReads): void {
  byAdapter.set(db.getExecutor().adapter, direct)
}

export function directReadsOf(db: Db): DirectReads | undefined {
  return byAdapter.get(db.getExecutor().adapter)
}

export function rememberDirectStatements(tx: Tx, statements: DirectStatements): void {
  byTransaction.set(tx, statements)
}

/** Undefined on PostgreSQL, where a statement waits for the server. */
export function directStatementsOf(db: Db): DirectStatements | undefined {
  return byTransaction.get(db)
}
