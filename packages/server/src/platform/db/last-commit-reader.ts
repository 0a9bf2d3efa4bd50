import { isBusy } from './sqlite-busy.ts'
import type { SqliteFile, SqliteResult } from './sqlite-file.ts'

/**
 * Reads the last commit with the connection that writes, if it has no open transaction: it has the pages of its own commits in
 * memory, and another connection would read them from the file again after each commit.
 */
export class LastCommitReader {
  readonly #reader: SqliteFile
  readonly #writer: SqliteFile

  constructor(reader: SqliteFile, writer: SqliteFile) {
    this.#reader = reader
    this.#writer = writer
  }

  run(sql: string, parameters: readonly unknown[]): Pick<SqliteResult, 'rows'> {
    if (this.#writer.isInTransaction) return this.#reader.run(sql, parameters)
    try {
      return { rows: this.#writer.read(sql, parameters) }
    } catch (error) {
      // While another process recovers the write-ahead log, the writing connection fails at once; the other one waits.
      if (isBusy(error)) return this.#reader.run(sql, parameters)
      throw error
    }
  }

  valueOf(sql: string): unknown {
    return this.#reader.valueOf(sql)
  }
}
