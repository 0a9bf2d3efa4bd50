import type { DirectReads, StoredRows } from './direct-reads.ts'
import type { SqliteFile } from './sqlite-file.ts'

/** Maximum number of cached rows, which bounds the memory. */
const maximumRows = 10_000

/**
 * Caches the results of prepared reads until the next commit. Any write of this process clears the whole cache; a commit of another
 * process (`berth admin create` beside a running instance) is noticed in the next iteration of the event loop. So a read never
 * returns data from before an acknowledged write. Rows are frozen, since several callers share them.
 */
export class SqliteReadCache implements DirectReads {
  readonly #reader: SqliteFile
  readonly #root: CacheNode = { rows: undefined, next: new Map() }
  #rows = 0
  #dataVersion: unknown
  #isChecked = false

  constructor(reader: SqliteFile) {
    this.#reader = reader
  }

  read(sql: string, parameters: readonly unknown[]): StoredRows {
    if (!this.#isChecked) this.#check()
    let node = this.#root.next?.get(sql)
    for (const parameter of parameters) node = node?.next?.get(parameter)
    return node?.rows ?? this.#store(sql, parameters, freeze(this.#reader.run(sql, parameters).rows))
  }

  /** Must be called after every write and after every commit. */
  drop(): void {
    if (this.#rows === 0) return
    this.#root.next?.clear()
    this.#rows = 0
  }

  /**
   * `data_version` changes when another connection commits. Reading it costs about as much as a query, so it is read once per
   * iteration of the event loop.
   */
  #check(): void {
    const [row] = this.#reader.run('pragma data_version', []).rows
    if (row?.data_version !== this.#dataVersion) this.drop()
    this.#dataVersion = row?.data_version
    this.#isChecked = true
    setImmediate(() => {
      this.#isChecked = false
    }).unref()
  }

  #store(sql: string, parameters: readonly unknown[], rows: StoredRows): StoredRows {
    // An empty result is cached too, and counts as one row.
    if (this.#rows + rows.length + 1 > maximumRows) this.drop()
    this.#rows += rows.length + 1
    let node = childOf(this.#root, sql)
    for (const parameter of parameters) node = childOf(node, parameter)
    node.rows = rows
    return rows
  }
}

/** A tree node: the first level is the statement, each further level a parameter, unconverted, so that `'1'` and `1` differ. */
interface CacheNode {
  rows: StoredRows | undefined
  next: Map<unknown, CacheNode> | undefined
}

function childOf(node: CacheNode, key: unknown): CacheNode {
  node.next ??= new Map()
  const existing = node.next.get(key)
  if (existing) return existing
  const created: CacheNode = { rows: undefined, next: undefined }
  node.next.set(key, created)
  return created
}

function freeze(rows: Record<string, unknown>[]): StoredRows {
  for (const row of rows) Object.freeze(row)
  return Object.freeze(rows)
}
