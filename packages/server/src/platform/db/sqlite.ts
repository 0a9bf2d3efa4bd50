import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'
import type { DirectReads } from './direct-reads.ts'
import { assertOutsideTransaction } from './open-transaction.ts'
import { whileBusy } from './sqlite-busy.ts'
import { SqliteFile, type SqliteResult } from './sqlite-file.ts'
import { SqliteReadCache } from './sqlite-read-cache.ts'
import { WalIndexHeader } from './wal-index-header.ts'

export interface SqliteParts {
  dialect: Dialect
  direct: DirectReads
}

/**
 * Two connections to one file: writes and transactions queue for the first. A read outside a transaction uses the second, where it
 * sees the last commit and never waits behind an open transaction. Kysely's own SQLite driver has a single connection.
 */
export function sqliteParts(file: string): SqliteParts {
  const writer = new SqliteFile(file, { readOnly: false, afterRun: (sql) => cache.noteWrite(sql) })
  const reader = new SqliteFile(file, { readOnly: true })
  const walIndex = new WalIndexHeader(file)
  const cache = new SqliteReadCache(reader, writer, walIndex)
  const writeLock = new WriteLock()
  const driver: Driver = {
    init: async () => {},
    acquireConnection: async () => {
      assertOutsideTransaction()
      return new SqliteConnection(writer, reader, writeLock)
    },
    beginTransaction: (connection) => (connection as SqliteConnection).begin(),
    commitTransaction: (connection) => (connection as SqliteConnection).commit(),
    rollbackTransaction: (connection) => (connection as SqliteConnection).rollback(),
    savepoint: async (connection, name) => void (await connection.executeQuery(CompiledQuery.raw(`savepoint "${name}"`))),
    rollbackToSavepoint: async (connection, name) =>
      void (await connection.executeQuery(CompiledQuery.raw(`rollback to "${name}"`))),
    releaseSavepoint: async (connection, name) => void (await connection.executeQuery(CompiledQuery.raw(`release "${name}"`))),
    releaseConnection: async () => {},
    destroy: async () => {
      reader.close()
      writer.close()
      walIndex.close()
    },
  }
  return {
    dialect: {
      createDriver: () => driver,
      createAdapter: () => new QueueingAdapter(),
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
    direct: cache,
  }
}

/** The driver queues writes itself; Kysely's own lock around it would make a forgotten transaction hang instead of fail. */
class QueueingAdapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true
  }
}

class SqliteConnection implements DatabaseConnection {
  readonly #writer: SqliteFile
  readonly #reader: SqliteFile
  readonly #writeLock: WriteLock
  #releaseLock: (() => void) | undefined
  #hasEnded = false

  constructor(writer: SqliteFile, reader: SqliteFile, writeLock: WriteLock) {
    this.#writer = writer
    this.#reader = reader
    this.#writeLock = writeLock
  }

  async begin(): Promise<void> {
    const releaseLock = await this.#writeLock.take()
    try {
      await whileBusy(() => this.#writer.run('begin immediate', []))
    } catch (error) {
      releaseLock()
      throw error
    }
    this.#releaseLock = releaseLock
    this.#hasEnded = false
  }

  /** A failed commit keeps the write lock: Kysely rolls back next. */
  async commit(): Promise<void> {
    this.#writer.run('commit', [])
    this.#endTransaction()
  }

  /** SQLite has already rolled back by itself after some failures, such as a full disk. */
  async rollback(): Promise<void> {
    try {
      if (this.#writer.isInTransaction) this.#writer.run('rollback', [])
    } finally {
      this.#endTransaction()
    }
  }

  #endTransaction(): void {
    this.#releaseLock?.()
    this.#releaseLock = undefined
    this.#hasEnded = true
  }

  async executeQuery<Row>({ sql, parameters, query }: CompiledQuery): Promise<QueryResult<Row>> {
    // A query that ran concurrently with the failed one would otherwise write outside the transaction, after the rollback.
    if (this.#hasEnded) throw new Error('the transaction that this query belongs to has ended')
    if (this.#releaseLock) return toResult(this.#writer.run(sql, parameters))
    if (query.kind === 'SelectQueryNode') return toResult(this.#reader.run(sql, parameters))
    const releaseLock = await this.#writeLock.take()
    try {
      return toResult(await whileBusy(() => this.#writer.run(sql, parameters)))
    } finally {
      releaseLock()
    }
  }

  async *streamQuery<Row>({ sql, parameters }: CompiledQuery): AsyncIterableIterator<QueryResult<Row>> {
    const file = this.#releaseLock ? this.#writer : this.#reader
    for (const row of file.iterate(sql, parameters)) yield { rows: [row as Row] }
  }
}

/** A first-in, first-out lock. */
class WriteLock {
  #last: Promise<void> = Promise.resolve()

  async take(): Promise<() => void> {
    const previous = this.#last
    const current = Promise.withResolvers<void>()
    this.#last = current.promise
    await previous
    return current.resolve
  }
}

function toResult<Row>({ rows, changes }: SqliteResult): QueryResult<Row> {
  return changes === undefined ? { rows: rows as Row[] } : { rows: rows as Row[], numAffectedRows: BigInt(changes) }
}
