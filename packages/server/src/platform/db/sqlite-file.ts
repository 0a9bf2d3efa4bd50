import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { storedValue } from './columns.ts'

const cachedStatements = 500
/**
 * A commit is on disk before it is acknowledged. The write-ahead log is truncated again after a burst of writes. A write that finds
 * another process writing fails at once: `whileBusy` tries again.
 */
const writerSettings =
  'pragma journal_mode = wal; pragma synchronous = full; pragma journal_size_limit = 67108864; pragma busy_timeout = 0'

interface Statement {
  prepared: StatementSync
  /** Empty for a statement that returns no rows. */
  columns: readonly string[]
}

export interface SqliteResult {
  rows: Record<string, unknown>[]
  /** Absent if the statement returns rows. */
  changes?: number
}

/** A connection to the file with a cache of prepared statements by SQL text; the least recently used are dropped first. */
export class SqliteFile {
  readonly #database: DatabaseSync
  readonly #statements = new Map<string, Statement>()
  readonly #afterRun: ((sql: string) => void) | undefined

  /** `afterRun` is called after each statement, also after one that failed. */
  constructor(file: string, options: { readOnly: boolean; afterRun?: (sql: string) => void }) {
    this.#afterRun = options.afterRun
    this.#database = new DatabaseSync(file, {
      readOnly: options.readOnly,
      enableForeignKeyConstraints: true,
      enableDoubleQuotedStringLiterals: false,
      timeout: 5_000,
    })
    if (!options.readOnly) this.#database.exec(writerSettings)
  }

  get isInTransaction(): boolean {
    return this.#database.isOpen && this.#database.isTransaction
  }

  run(sql: string, parameters: readonly unknown[]): SqliteResult {
    try {
      const statement = this.#statement(sql)
      const values = parameters.map(toSqlite)
      if (statement.columns.length > 0) return { rows: readRows(statement, values) }
      return { rows: [], changes: Number(statement.prepared.run(...values).changes) }
    } finally {
      this.#afterRun?.(sql)
    }
  }

  /** Runs a statement that only reads; `afterRun` is not called. */
  read(sql: string, parameters: readonly unknown[]): Record<string, unknown>[] {
    return readRows(this.#statement(sql), parameters.map(toSqlite))
  }

  /** The value of a pragma. `afterRun` is not called. */
  valueOf(sql: string): unknown {
    const { prepared } = this.#statements.get(sql) ?? this.#statement(sql)
    return (prepared.get() as unknown as unknown[])[0]
  }

  /** Uses its own prepared statement, since a statement that is being iterated cannot be used for anything else. */
  *iterate(sql: string, parameters: readonly unknown[]): Generator<Record<string, unknown>> {
    for (const row of this.#database.prepare(sql).iterate(...parameters.map(toSqlite))) yield { ...row }
  }

  close(): void {
    this.#statements.clear()
    if (this.#database.isOpen) this.#database.close()
  }

  #statement(sql: string): Statement {
    const cached = this.#statements.get(sql)
    if (cached) {
      // Moves it to the most recently used end, once statements are dropped; a Map keeps insertion order.
      if (this.#statements.size >= cachedStatements) {
        this.#statements.delete(sql)
        this.#statements.set(sql, cached)
      }
      return cached
    }
    const prepared = this.#database.prepare(sql)
    prepared.setReturnArrays(true)
    const statement = { prepared, columns: namesOf(prepared) }
    this.#statements.set(sql, statement)
    if (this.#statements.size > cachedStatements) this.#statements.delete(this.#statements.keys().next().value as string)
    return statement
  }
}

const namesOf = (prepared: StatementSync) => prepared.columns().map((column) => column.name)

/** Reads rows as arrays and converts them to objects, which is a third faster than SQLite's own null-prototype objects. */
function readRows(statement: Statement, values: SQLInputValue[]): Record<string, unknown>[] {
  const rows = statement.prepared.all(...values) as unknown as unknown[][]
  // Another connection has added a column to the table: SQLite notices this when it reads, not when it prepares.
  if (rows[0] && rows[0].length !== statement.columns.length) statement.columns = namesOf(statement.prepared)
  const { columns } = statement
  return rows.map((row) => {
    const named: Record<string, unknown> = {}
    for (let i = 0; i < columns.length; i++) named[columns[i] as string] = row[i]
    return named
  })
}

function toSqlite(value: unknown): SQLInputValue {
  return storedValue(value) as SQLInputValue
}
