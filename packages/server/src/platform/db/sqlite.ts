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
import { ShortTurns } from './short-turns.ts'
import { SqliteFile, type SqliteResult } from './sqlite-file.ts'
import { SqliteReadCache } from './sqlite-read-cache.ts'

export interface SqliteParts {
  dialect: Dialect
  direct: DirectReads
}

/**
 * Two connections to one file: writes and transactions queue for the first. A read outside a transaction uses the second, where it
 * sees the last commit and never waits behind an open transaction. Kysely's own SQLite driver has a single connection.
 */
export function sqliteParts(file: string): SqliteParts {
  const writer = new SqliteFile(file, { readOnly: false, afterRun: () => cache.drop() })
  const reader = new SqliteFile(file, { readOnly: true })
  const cache = new SqliteReadCache(reader)
  const turns = new Turns()
  const shortTurns = new ShortTurns()
  const driver: Driver = {
    init: async () => {},
    acquireConnection: async () => {
      assertOutsideTransaction()
      return new SqliteConnection(writer, reader, turns, shortTurns)
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
    },
  }
  return {
    dialect: {
      createDriver: () => driver,
      createAdapter: () => new TurnTakingAdapter(),
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
    direct: cache,
  }
}

/** The driver queues writes itself; Kysely's own lock around it would make a forgotten transaction hang instead of fail. */
class TurnTakingAdapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true
  }
}

class SqliteConnection implements DatabaseConnection {
  readonly #writer: SqliteFile
  readonly #reader: SqliteFile
  readonly #turns: Turns
  readonly #shortTurns: ShortTurns
  #endTurn: (() => void) | undefined
  #isOver = false

  constructor(writer: SqliteFile, reader: SqliteFile, turns: Turns, shortTurns: ShortTurns) {
    this.#writer = writer
    this.#reader = reader
    this.#turns = turns
    this.#shortTurns = shortTurns
  }

  async begin(): Promise<void> {
    const endTurn = await this.#turns.take()
    try {
      this.#writer.run('begin immediate', [])
    } catch (error) {
      endTurn()
      throw error
    }
    this.#endTurn = endTurn
    this.#isOver = false
  }

  /** A failed commit keeps the write lock: Kysely rolls back next. */
  async commit(): Promise<void> {
    await this.#shortTurns.next()
    this.#writer.run('commit', [])
    this.#finishTurn()
  }

  /** SQLite has already rolled back by itself after some failures, such as a full disk. */
  async rollback(): Promise<void> {
    try {
      if (this.#writer.inTransaction) this.#writer.run('rollback', [])
    } finally {
      this.#finishTurn()
    }
  }

  #finishTurn(): void {
    this.#endTurn?.()
    this.#endTurn = undefined
    this.#isOver = true
  }

  async executeQuery<Row>({ sql, parameters, query }: CompiledQuery): Promise<QueryResult<Row>> {
    await this.#shortTurns.next()
    // A query that was running beside the failed one would otherwise be written on its own, after the rollback.
    if (this.#isOver) throw new Error('the transaction that this query belongs to has ended')
    if (this.#endTurn) return toResult(this.#writer.run(sql, parameters))
    if (query.kind === 'SelectQueryNode') return toResult(this.#reader.run(sql, parameters))
    const endTurn = await this.#turns.take()
    try {
      return toResult(this.#writer.run(sql, parameters))
    } finally {
      endTurn()
    }
  }

  async *streamQuery<Row>({ sql, parameters }: CompiledQuery): AsyncIterableIterator<QueryResult<Row>> {
    const file = this.#endTurn ? this.#writer : this.#reader
    for (const row of file.iterate(sql, parameters)) yield { rows: [row as Row] }
  }
}

/** A first-in, first-out lock. */
class Turns {
  #last: Promise<void> = Promise.resolve()

  async take(): Promise<() => void> {
    const before = this.#last
    const mine = Promise.withResolvers<void>()
    this.#last = mine.promise
    await before
    return mine.resolve
  }
}

function toResult<Row>({ rows, changes }: SqliteResult): QueryResult<Row> {
  return changes === undefined ? { rows: rows as Row[] } : { rows: rows as Row[], numAffectedRows: BigInt(changes) }
}
