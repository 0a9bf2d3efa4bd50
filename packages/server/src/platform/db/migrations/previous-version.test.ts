import { type Kysely, sql } from 'kysely'
import { expect, test } from 'vitest'
import { openTestDatabase } from '../../test-database.ts'
import { breakingChanges, readSchema, type Schema } from '../test-schema-changes.ts'
import { type Migration, migrations } from './index.ts'

/** Migrations up to this one were made before the rule. */
const lastBeforeRule = '067-domain-addresses'

/**
 * Changes that a process of the previous version does not use any more, with the version that stopped using the table or column. A
 * change is allowed here one version after that.
 */
const allowed: Readonly<Record<string, string>> = {}

/** An empty SQLite database, before any migration. */
async function withEmptyDatabase<Result>(work: (db: Kysely<unknown>) => Promise<Result>): Promise<Result> {
  const database = await openTestDatabase({ kind: 'sqlite' })
  const db = database.db as never as Kysely<unknown>
  try {
    await sql`pragma foreign_keys = off`.execute(db)
    for (const { name } of await db.introspection.getTables()) await db.schema.dropTable(name).execute()
    return await work(db)
  } finally {
    await database.close()
  }
}

const changesOf = (migration: Pick<Migration, 'up'>, db: Kysely<unknown>) =>
  db.transaction().execute(async (transaction) => {
    const before = await readSchema(transaction)
    await migration.up(transaction)
    return breakingChanges(before, await readSchema(transaction))
  })

test('a process of the previous version works after each migration: nothing is removed, renamed or required', async () => {
  await withEmptyDatabase(async (db) => {
    const found: string[] = []
    for (const migration of migrations) {
      const changes = await changesOf(migration, db)
      if (migration.name > lastBeforeRule) found.push(...changes.map((change) => `${migration.name} ${change}`))
    }
    expect(found.filter((change) => !(change in allowed))).toEqual([])
    expect(Object.keys(allowed).filter((change) => !found.includes(change))).toEqual([])
  })
})

test.each<[string, string, string[]]>([
  ['a table is removed', 'drop table shelves', ['removes the table shelves']],
  ['a table is renamed', 'alter table shelves rename to racks', ['removes the table shelves']],
  ['a column is removed', 'alter table shelves drop column note', ['removes the column shelves.note']],
  ['a column is renamed', 'alter table shelves rename column note to remark', ['removes the column shelves.note']],
  ['a required column', "alter table shelves add column kind text not null default ''", []],
  ['an optional column', 'alter table shelves add column kind text', []],
  ['an index', 'create index "shelvesByNote" on shelves (note)', []],
  ['a unique index', 'create unique index "shelfNote" on shelves (note)', ['adds the unique index shelfNote to shelves']],
  ['a new table', 'create table racks (id text primary key, note text not null)', []],
])('detected changes of a migration: %s', async (_, statement, expected) => {
  await withEmptyDatabase(async (db) => {
    await sql`create table shelves (id text primary key, note text)`.execute(db)
    expect(await changesOf({ up: async (tx) => void (await sql.raw(statement).execute(tx)) }, db)).toEqual(expected)
  })
})

test('a column that becomes required, changes its type or is added without a default is reported', () => {
  const schema = (columns: [string, { type: string; isOptional: boolean }][]): Schema => ({
    columns: new Map(columns),
    tables: new Set(['shelves']),
    uniqueIndexes: new Map(),
  })
  const before = schema([
    ['shelves.note', { type: 'text', isOptional: true }],
    ['shelves.size', { type: 'integer', isOptional: false }],
  ])
  const after = schema([
    ['shelves.note', { type: 'text', isOptional: false }],
    ['shelves.size', { type: 'text', isOptional: false }],
    ['shelves.kind', { type: 'text', isOptional: false }],
  ])
  expect(breakingChanges(before, after)).toEqual([
    'requires the column shelves.note',
    'changes the type of shelves.size',
    'adds the required column shelves.kind',
  ])
})
