export type Row = Readonly<Record<string, unknown>>
export type StoredRows = readonly Row[]

/** Bounds of the memory: number of rows, and number of characters in them. */
const maximumRows = 10_000
const maximumCharacters = 24 * 1024 * 1024

/**
 * A node in the tree of cached reads. The first level is keyed by the statement, each further level by one parameter, which is not
 * converted to text: `'1'` and `1` differ.
 */
export interface ReadEntry<Tables> {
  rows: StoredRows | undefined
  /** When the rows were read, on the clock of the cache. */
  readAt: number
  /** The tables of the statement. */
  tables: Tables
  next: Map<unknown, ReadEntry<Tables>> | undefined
}

/** Rows of reads by statement and parameters. */
export class ReadEntries<Tables> {
  readonly #statements = new Map<string, ReadEntry<Tables>>()
  readonly #tablesOf: (sql: string) => Tables
  #rows = 0
  #characters = 0

  constructor(tablesOf: (sql: string) => Tables) {
    this.#tablesOf = tablesOf
  }

  /** The tables of a statement. */
  tablesOf(sql: string): Tables {
    return this.#statement(sql).tables
  }

  find(sql: string, parameters: readonly unknown[]): ReadEntry<Tables> | undefined {
    let entry = this.#statements.get(sql)
    for (const parameter of parameters) entry = entry?.next?.get(parameter)
    return entry
  }

  /**
   * Keeps the rows; returns those of the last read as far as they are unchanged, so that values computed from them can be reused.
   */
  store(sql: string, parameters: readonly unknown[], rows: Record<string, unknown>[], readAt: number): StoredRows {
    const last = this.find(sql, parameters)?.rows
    const stored = last ? reuseRows(rows, last) : frozen(rows)
    if (stored !== last) this.#count(stored, last)
    const entry = this.#make(sql, parameters)
    entry.rows = stored
    entry.readAt = readAt
    return stored
  }

  clear(): void {
    this.#statements.clear()
    this.#rows = 0
    this.#characters = 0
  }

  #count(stored: StoredRows, last: StoredRows | undefined): void {
    const characters = charactersOf(stored)
    // An empty result is kept too, and counts as one row.
    if (this.#rows + stored.length + 1 > maximumRows || this.#characters + characters > maximumCharacters) {
      this.clear()
      last = undefined
    }
    this.#rows += stored.length + 1 - (last ? last.length + 1 : 0)
    this.#characters += characters - (last ? charactersOf(last) : 0)
  }

  #statement(sql: string): ReadEntry<Tables> {
    const known = this.#statements.get(sql)
    if (known) return known
    const statement = emptyEntry(this.#tablesOf(sql))
    this.#statements.set(sql, statement)
    return statement
  }

  #make(sql: string, parameters: readonly unknown[]): ReadEntry<Tables> {
    const statement = this.#statement(sql)
    return parameters.reduce((entry: ReadEntry<Tables>, parameter) => {
      entry.next ??= new Map()
      const next = entry.next.get(parameter) ?? emptyEntry(statement.tables)
      entry.next.set(parameter, next)
      return next
    }, statement)
  }
}

const emptyEntry = <Tables>(tables: Tables): ReadEntry<Tables> => ({ rows: undefined, readAt: 0, tables, next: undefined })

function frozen(rows: Record<string, unknown>[]): StoredRows {
  for (const row of rows) Object.freeze(row)
  return Object.freeze(rows)
}

/** Replaces rows by equal ones of the last read; returns that read itself if all of its rows are unchanged. */
function reuseRows(rows: Record<string, unknown>[], last: StoredRows): StoredRows {
  let byKey: Map<unknown, Row> | undefined
  let isSame = rows.length === last.length
  for (const [at, row] of rows.entries()) {
    const candidate = last[at]
    if (candidate && isEqual(row, candidate)) {
      rows[at] = candidate
      continue
    }
    isSame = false
    byKey ??= new Map(last.map((one) => [keyOf(one), one]))
    const moved = byKey.get(keyOf(row))
    if (moved && isEqual(row, moved)) rows[at] = moved
  }
  return isSame ? last : frozen(rows)
}

/** Rows of most lists begin with their id, or have one. */
const keyOf = (row: Row): unknown => row.id ?? Object.values(row)[0]

function isEqual(left: Row, right: Row): boolean {
  for (const name in left) if (left[name] !== right[name]) return false
  return true
}

function charactersOf(rows: StoredRows): number {
  let characters = 0
  for (const row of rows)
    for (const name in row) {
      const value = row[name]
      if (typeof value === 'string') characters += value.length
    }
  return characters
}
