import { type Expression, PostgresAdapter, type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Db } from './schema.ts'

const texts = new WeakMap<readonly string[], string>()

/** The ids as one parameter of a prepared query. The text of a frozen (cached) list is made once. */
export function idListText(ids: readonly string[]): string {
  const known = texts.get(ids)
  if (known !== undefined) return known
  const text = JSON.stringify(ids)
  if (Object.isFrozen(ids)) texts.set(ids, text)
  return text
}

/** The condition that a column is one of the ids in a text of `idListText`. */
export function isInIdList(db: Db, column: string, list: string): RawBuilder<SqlBool> {
  const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter
  return isPostgres
    ? sql<SqlBool>`${sql.ref(column)} = any(array(select jsonb_array_elements_text(cast(${list} as jsonb))))`
    : sql<SqlBool>`${sql.ref(column)} in (select value from json_each(${list}))`
}

/** The condition that a column is one of the ids that a subquery returns: each is looked up, however many rows the table has. */
export function isAmong(db: Db, column: string, ids: Expression<unknown>): RawBuilder<SqlBool> {
  const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter
  return isPostgres ? sql<SqlBool>`${sql.ref(column)} = any(array(${ids}))` : sql<SqlBool>`${sql.ref(column)} in ${ids}`
}

/** The ids in a text of `idListText` as a table with the column `id`. */
export function idListTable(db: Db, list: string): RawBuilder<{ id: string }> {
  const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter
  return isPostgres
    ? sql<{ id: string }>`(select value as id from jsonb_array_elements_text(cast(${list} as jsonb)))`
    : sql<{ id: string }>`(select value as id from json_each(${list}))`
}

/** The ids as values of `in (…)`. SQL allows no empty list there: the added '' equals no id. */
export const idsOrNone = (ids: Iterable<string>): string[] => [...ids, '']
