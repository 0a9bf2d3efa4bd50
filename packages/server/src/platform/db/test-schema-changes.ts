import { type Kysely, sql } from 'kysely'

/** Test support: reads the parts of a schema that the statements of a process depend on. */
export interface Schema {
  /** Keys are `table.column`. */
  columns: Map<string, { type: string; isOptional: boolean }>
  tables: Set<string>
  /** Definitions of unique indexes, by name. */
  uniqueIndexes: Map<string, { table: string; definition: string }>
}

/** Reads the schema of a SQLite database. */
export async function readSchema(db: Kysely<unknown>): Promise<Schema> {
  const schema: Schema = { columns: new Map(), tables: new Set(), uniqueIndexes: new Map() }
  for (const { name, columns } of await db.introspection.getTables()) {
    schema.tables.add(name)
    for (const column of columns)
      schema.columns.set(`${name}.${column.name}`, {
        type: column.dataType,
        isOptional: column.isNullable || column.hasDefaultValue,
      })
  }
  const { rows } = await sql<{
    name: string
    table: string
    definition: string
  }>`select name, tbl_name as "table", sql as definition
    from sqlite_master where type = 'index' and lower(sql) like 'create unique%'`.execute(db)
  for (const { name, table, definition } of rows) schema.uniqueIndexes.set(name, { table, definition })
  return schema
}

/**
 * Changes that break a process of the previous version: its statements name tables and columns that are gone, its rows lack a
 * column that is required, or a new unique index refuses them.
 */
export function breakingChanges(before: Schema, after: Schema): string[] {
  const changes: string[] = []
  for (const table of before.tables) if (!after.tables.has(table)) changes.push(`removes the table ${table}`)
  for (const [name, { type, isOptional }] of before.columns) {
    const now = after.columns.get(name)
    if (!now) {
      if (after.tables.has(tableOf(name))) changes.push(`removes the column ${name}`)
    } else if (now.type !== type) changes.push(`changes the type of ${name}`)
    else if (isOptional && !now.isOptional) changes.push(`requires the column ${name}`)
  }
  for (const [name, { isOptional }] of after.columns)
    if (!isOptional && before.tables.has(tableOf(name)) && !before.columns.has(name))
      changes.push(`adds the required column ${name}`)
  for (const [name, { table, definition }] of after.uniqueIndexes)
    if (before.tables.has(table) && before.uniqueIndexes.get(name)?.definition !== definition)
      changes.push(`adds the unique index ${name} to ${table}`)
  return changes
}

const tableOf = (column: string) => column.slice(0, column.indexOf('.'))
