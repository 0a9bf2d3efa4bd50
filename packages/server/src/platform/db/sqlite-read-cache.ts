import type { DirectReads, StoredRows } from './direct-reads.ts'
import type { SqliteFile } from './sqlite-file.ts'

/** The cache holds this many rows at most, so that its memory is bounded whatever is asked. */
const maximumRows = 10_000

/**
 * What prepared reads gave, for as long as nothing was committed: any write of this process drops all of it at once, and a
 * commit of another process (`berth admin create` beside a running instance) is seen by the next turn of the event loop.
 * So nobody reads what was true before a write that was acknowledged. Rows are frozen, since they are handed out again.
 */
export class SqliteReadCache implements DirectReads {
  readonly #reader: SqliteFile
  readonly #kept: Kept = { rows: undefined, next: new Map() }
  #rows = 0
  #dataVersion: unknown
  #isChecked = false

  constructor(reader: SqliteFile) {
    this.#reader = reader
  }

  read(sql: string, parameters: readonly unknown[]): StoredRows {
    if (!this.#isChecked) this.#check()
    let kept = this.#kept.next?.get(sql)
    for (const parameter of parameters) kept = kept?.next?.get(parameter)
    return kept?.rows ?? this.#keep(sql, parameters, freeze(this.#reader.run(sql, parameters).rows))
  }

  /** To be called after every write, and after every commit. */
  drop(): void {
    if (this.#rows === 0) return
    this.#kept.next?.clear()
    this.#rows = 0
  }

  /** `data_version` moves when another connection commits. Asking costs about as much as a read, so once a turn is enough. */
  #check(): void {
    const [row] = this.#reader.run('pragma data_version', []).rows
    if (row?.data_version !== this.#dataVersion) this.drop()
    this.#dataVersion = row?.data_version
    this.#isChecked = true
    setImmediate(() => {
      this.#isChecked = false
    }).unref()
  }

  #keep(sql: string, parameters: readonly unknown[], rows: StoredRows): StoredRows {
    // A read without a row is worth keeping too.
    if (this.#rows + rows.length + 1 > maximumRows) this.drop()
    this.#rows += rows.length + 1
    let kept = below(this.#kept, sql)
    for (const parameter of parameters) kept = below(kept, parameter)
    kept.rows = rows
    return rows
  }
}

/** Found by the statement, then by one parameter after the other: as they are, so that `'1'` and `1` stay apart. */
interface Kept {
  rows: StoredRows | undefined
  next: Map<unknown, Kept> | undefined
}

function below(kept: Kept, step: unknown): Kept {
  kept.next ??= new Map()
  const known = kept.next.get(step)
  if (known) return known
  const made: Kept = { rows: undefined, next: undefined }
  kept.next.set(step, made)
  return made
}

function freeze(rows: Record<string, unknown>[]): StoredRows {
  for (const row of rows) Object.freeze(row)
  return Object.freeze(rows)
}
