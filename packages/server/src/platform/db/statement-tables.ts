import type { SqliteResult } from './sqlite-file.ts'

/** The effect of a statement on the cache of reads. A list names the tables that it changes; `unknown`: any table, or the schema. */
export type WriteEffect = 'none' | 'begins transaction' | 'ends transaction' | 'unknown' | readonly string[]

interface Reader {
  run(sql: string, parameters: readonly unknown[]): Pick<SqliteResult, 'rows'>
}

const maximumStatements = 2_000
const word = /[a-z_][a-z0-9_]*/g

interface ForeignKey {
  child: string
  parent: string
  onUpdate: string
  onDelete: string
}

/**
 * Tells which tables a statement reads or changes, by the words of its text: every table that it can touch is named there, or is
 * reached from one by a foreign key with an action. It may name too many, never too few.
 */
export class StatementTables {
  readonly #file: Reader
  readonly #effects = new Map<string, WriteEffect>()
  #tables: ReadonlySet<string> | undefined
  #keys: readonly ForeignKey[] = []
  /** A trigger or a view hides tables from the text of a statement: then every statement may concern every table. */
  #isHidden = false

  constructor(file: Reader) {
    this.#file = file
  }

  /** Must be called when the schema may have changed. */
  forget(): void {
    this.#tables = undefined
    this.#effects.clear()
  }

  named(sql: string): readonly string[] {
    const tables = this.#load()
    if (this.#isHidden) return [...tables]
    return [...new Set(sql.toLowerCase().match(word))].filter((name) => tables.has(name))
  }

  effectOf(sql: string): WriteEffect {
    const known = this.#effects.get(sql)
    if (known) return known
    if (this.#effects.size >= maximumStatements) this.#effects.clear()
    const effect = this.analyze(sql)
    this.#effects.set(sql, effect)
    return effect
  }

  analyze(sql: string): WriteEffect {
    const words = new Set(sql.toLowerCase().match(word))
    const [first] = words
    if (first === 'select' || first === 'savepoint' || first === 'release') return 'none'
    if (first === 'begin') return 'begins transaction'
    if (first === 'commit') return 'ends transaction'
    // What a savepoint changed counts as changed until the transaction ends.
    if (first === 'rollback') return words.has('to') ? 'none' : 'ends transaction'
    if (!first || !['insert', 'update', 'delete', 'replace', 'with'].includes(first)) return 'unknown'
    const touched = new Set(this.named(sql))
    if (this.#isHidden) return 'unknown'
    const removes = words.has('delete') || words.has('replace')
    const updates = words.has('update')
    // Foreign keys act on the children of children too. A set grows while it is iterated.
    for (const parent of touched)
      for (const key of this.#keys)
        if (key.parent === parent && ((removes && acts(key.onDelete)) || (updates && acts(key.onUpdate)))) touched.add(key.child)
    return [...touched]
  }

  #load(): ReadonlySet<string> {
    if (this.#tables) return this.#tables
    const { rows } = this.#file.run(`select lower(name) as name, type from sqlite_master where type <> 'index'`, [])
    this.#isHidden = rows.some(({ type }) => type !== 'table')
    this.#tables = new Set(rows.map(({ name }) => name as string))
    this.#keys = this.#file.run(foreignKeys, []).rows as unknown as ForeignKey[]
    return this.#tables
  }
}

const acts = (action: string): boolean => action !== 'NO ACTION' && action !== 'RESTRICT'

const foreignKeys = `
  select lower(tables.name) as child, lower(keys."table") as parent, keys.on_update as "onUpdate", keys.on_delete as "onDelete"
  from sqlite_master as tables, pragma_foreign_key_list(tables.name) as keys
  where tables.type = 'table'`
