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
  readonly #found = new Map<string, Map<string, StoredRows>>()
  #rows = 0
  #dataVersion: unknown
  #isChecked = false

  constructor(reader: SqliteFile) {
    this.#reader = reader
  }

  read(sql: string, parameters: readonly unknown[]): StoredRows {
    if (!this.#isChecked) this.#check()
    const key = keyOf(parameters)
    const known = this.#found.get(sql)?.get(key)
    return known ?? this.#keep(sql, key, freeze(this.#reader.run(sql, parameters).rows))
  }

  /** To be called after every write, and after every commit. */
  drop(): void {
    if (this.#rows === 0) return
    this.#found.clear()
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

  #keep(sql: string, key: string, rows: StoredRows): StoredRows {
    // A read without a row is worth keeping too.
    if (this.#rows + rows.length + 1 > maximumRows) this.drop()
    this.#rows += rows.length + 1
    const known = this.#found.get(sql)
    if (known) known.set(key, rows)
    else this.#found.set(sql, new Map([[key, rows]]))
    return rows
  }
}

/** Most reads are by one id or two, which are text without a line break; whatever else is spelt out in full. */
function keyOf(parameters: readonly unknown[]): string {
  const [first, second] = parameters
  if (parameters.length === 1 && isWord(first)) return first
  if (parameters.length === 2 && isWord(first) && isWord(second)) return `${first}\n${second}`
  return JSON.stringify(parameters)
}

const isWord = (value: unknown): value is string => typeof value === 'string' && !value.includes('\n') && !value.startsWith('[')

function freeze(rows: Record<string, unknown>[]): StoredRows {
  for (const row of rows) Object.freeze(row)
  return Object.freeze(rows)
}
