import type { DirectReads } from './direct-reads.ts'
import { ReadEntries, type ReadEntry, type StoredRows } from './read-entries.ts'
import { isBusy } from './sqlite-busy.ts'
import type { SqliteFile, SqliteResult } from './sqlite-file.ts'
import { StatementTables } from './statement-tables.ts'
import type { WalIndexHeader } from './wal-index-header.ts'

const alwaysChanged = { hasChanged: () => true }

/** Reads the last commit. */
interface Reader extends Pick<SqliteFile, 'valueOf'> {
  run(sql: string, parameters: readonly unknown[]): Pick<SqliteResult, 'rows'>
}

/** A table, and when this process last changed it. */
interface Table {
  changedAt: number
}

/**
 * Caches the results of prepared reads until a commit changes one of their tables. A commit of another process makes every read
 * ask the database again. Rows that are then unchanged stay the same objects. So a read never returns data from before an
 * acknowledged write. Rows are frozen, since several callers share them.
 */
export class SqliteReadCache implements DirectReads {
  readonly #reader: Reader
  readonly #watcher: Pick<SqliteFile, 'valueOf'>
  readonly #walIndex: Pick<WalIndexHeader, 'hasChanged'>
  readonly #statements: StatementTables
  readonly #tables = new Map<string, Table>()
  readonly #entries = new ReadEntries<readonly Table[]>((sql) => this.#statements.named(sql).map((name) => this.#table(name)))
  /** Tables that the open transaction has changed. */
  readonly #pending = new Set<Table>()
  /** A statement may have changed the schema: the reader sees that only after its commit. */
  #hasPendingSchema = false
  /** Counts changes. */
  #now = 1
  /** The last change that may concern every table. */
  #allChangedAt = 0
  #dataVersion: unknown
  #schemaVersion: unknown
  #isChecked = false
  /** Commits of other processes before the open transaction are known: there are none while it is open. */
  #isTransactionChecked = false

  /** `watcher` is the connection that this process writes with: only commits of others change its data version. */
  constructor(
    reader: Reader,
    watcher: Pick<SqliteFile, 'valueOf'> = reader,
    walIndex: Pick<WalIndexHeader, 'hasChanged'> = alwaysChanged,
  ) {
    this.#reader = reader
    this.#watcher = watcher
    this.#walIndex = walIndex
    this.#statements = new StatementTables(reader)
  }

  read(sql: string, parameters: readonly unknown[]): StoredRows {
    if (!this.#isChecked) this.#check()
    const entry = this.#entries.find(sql, parameters)
    if (entry?.rows && this.#isCurrent(entry)) return entry.rows
    return this.#entries.store(sql, parameters, this.#reader.run(sql, parameters).rows, this.#now)
  }

  /**
   * A read of the open transaction, which `run` asks the database for. Its answer is the last commit's if the transaction has
   * changed none of the tables, and no other process can commit meanwhile.
   */
  readInTransaction(sql: string, parameters: readonly unknown[], run: () => Record<string, unknown>[]): StoredRows {
    if (!this.#isTransactionChecked) this.#check()
    this.#isTransactionChecked = true
    if (this.#hasPendingSchema || this.#entries.tablesOf(sql).some((table) => this.#pending.has(table))) return run()
    const entry = this.#entries.find(sql, parameters)
    if (entry?.rows && this.#isCurrent(entry)) return entry.rows
    return this.#entries.store(sql, parameters, run(), this.#now)
  }

  /** Must be called after every statement of the connection that writes, also after one that failed. */
  noteWrite(sql: string): void {
    const effect = this.#statements.effectOf(sql)
    if (effect === 'unknown') {
      this.#hasPendingSchema = true
      this.drop()
    }
    if (effect === 'begins transaction') {
      this.#isTransactionChecked = false
      this.#pending.clear()
    }
    if (effect === 'none' || effect === 'unknown' || effect === 'begins transaction') return
    this.#now += 1
    if (effect === 'ends transaction') {
      this.#endTransaction()
      return
    }
    for (const name of effect) {
      const table = this.#table(name)
      table.changedAt = this.#now
      this.#pending.add(table)
    }
  }

  #endTransaction(): void {
    for (const table of this.#pending) table.changedAt = this.#now
    this.#pending.clear()
    if (this.#hasPendingSchema) this.drop()
    this.#hasPendingSchema = false
  }

  /** Drops all cached rows and the known tables of all statements. */
  drop(): void {
    this.#entries.clear()
    this.#statements.forget()
    this.#now += 1
  }

  #isCurrent({ readAt, tables }: ReadEntry<readonly Table[]>): boolean {
    if (readAt === this.#now) return true
    if (readAt < this.#allChangedAt) return false
    for (const { changedAt } of tables) if (readAt < changedAt) return false
    return true
  }

  /**
   * `data_version` changes when another connection commits. It is read only after a commit of any process, which is checked once
   * per event of the event loop: the message about a commit of another process is an event too.
   */
  #check(): void {
    this.#isChecked = true
    process.nextTick(this.#uncheck)
    if (!this.#walIndex.hasChanged()) return
    const dataVersion = this.#readDataVersion()
    if (dataVersion === this.#dataVersion) return
    this.#dataVersion = dataVersion
    const schemaVersion = this.#reader.valueOf('pragma schema_version')
    if (schemaVersion !== this.#schemaVersion) this.drop()
    this.#schemaVersion = schemaVersion
    this.#now += 1
    this.#allChangedAt = this.#now
  }

  /** While another process recovers the write-ahead log, the version is unknown and equals no other: every read is repeated. */
  #readDataVersion(): unknown {
    try {
      return this.#watcher.valueOf('pragma data_version')
    } catch (error) {
      if (isBusy(error)) return Symbol('busy')
      throw error
    }
  }

  readonly #uncheck = (): void => {
    this.#isChecked = false
  }

  #table(name: string): Table {
    const known = this.#tables.get(name)
    if (known) return known
    const table = { changedAt: 0 }
    this.#tables.set(name, table)
    return table
  }
}
