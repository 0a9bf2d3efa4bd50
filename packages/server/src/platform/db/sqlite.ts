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
import type { DirectReads, PreparedStatement } from './direct-reads.ts'
import { LastCommitReader } from './last-commit-reader.ts'
import { assertOutsideTransaction } from './open-transaction.ts'
import type { StoredRows } from './read-entries.ts'
import { type Member, SharedCommits } from './shared-commits.ts'
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
  const cache = new SqliteReadCache(new LastCommitReader(reader, writer), writer, walIndex)
  const commits = new SharedCommits(writer)
  const driver: Driver = {
    init: async () => {},
    acquireConnection: async () => {
      assertOutsideTransaction()
      return new SqliteConnection(writer, reader, commits, cache)
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
      commits.close()
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

interface Rows {
  rows: StoredRows
}

/** Kinds of statements that may share a transaction with others. Raw SQL may not: it could be a pragma. */
const sharedKinds: readonly string[] = ['InsertQueryNode', 'UpdateQueryNode', 'DeleteQueryNode', 'MergeQueryNode']

export class SqliteConnection implements DatabaseConnection {
  readonly #writer: SqliteFile
  readonly #reader: SqliteFile
  readonly #commits: SharedCommits
  readonly #cache: SqliteReadCache
  #transaction: Member | undefined

  constructor(writer: SqliteFile, reader: SqliteFile, commits: SharedCommits, cache: SqliteReadCache) {
    this.#writer = writer
    this.#reader = reader
    this.#commits = commits
    this.#cache = cache
  }

  async begin(): Promise<void> {
    this.#transaction = await this.#commits.begin()
  }

  /** Kysely calls `rollback` after a failed commit; in that case `rollback` does nothing. */
  async commit(): Promise<void> {
    await this.#transaction?.commit()
  }

  async rollback(): Promise<void> {
    await this.#transaction?.rollback()
  }

  /** Runs a prepared statement of the transaction at once. */
  runPrepared({ sql, query }: PreparedStatement, parameters: readonly unknown[]): Pick<SqliteResult, 'changes'> & Rows {
    const transaction = this.#transaction
    if (!transaction) throw new Error('the connection has no open transaction')
    if (query.kind !== 'SelectQueryNode') return transaction.run(sql, parameters)
    transaction.assertOpen()
    return { rows: this.#cache.readInTransaction(sql, parameters, () => transaction.run(sql, parameters).rows) }
  }

  async executeQuery<Row>({ sql, parameters, query }: CompiledQuery): Promise<QueryResult<Row>> {
    if (this.#transaction) return toResult(this.#transaction.run(sql, parameters))
    if (query.kind === 'SelectQueryNode') return toResult(this.#reader.run(sql, parameters))
    if (!sharedKinds.includes(query.kind)) return toResult(await this.#commits.runAlone(() => this.#writer.run(sql, parameters)))
    const transaction = await this.#commits.begin()
    try {
      const result = toResult<Row>(transaction.run(sql, parameters))
      await transaction.commit()
      return result
    } catch (error) {
      await transaction.rollback()
      throw error
    }
  }

  async *streamQuery<Row>({ sql, parameters }: CompiledQuery): AsyncIterableIterator<QueryResult<Row>> {
    const file = this.#transaction ?? this.#reader
    for (const row of file.iterate(sql, parameters)) yield { rows: [row as Row] }
  }
}

function toResult<Row>({ rows, changes }: SqliteResult): QueryResult<Row> {
  return changes === undefined ? { rows: rows as Row[] } : { rows: rows as Row[], numAffectedRows: BigInt(changes) }
}
