import type { SelectQueryBuilder } from 'kysely'
import type { Awaitable } from '../awaitable.ts'
import { memoizeByRows } from './memoize-rows.ts'
import { preparedQuery } from './prepared.ts'
import type { Db, Schema } from './schema.ts'
import { isInvalidValue } from './violations.ts'

/** The cursor was not issued by this list; the response is a 400 that names `cursor`. */
export class BadCursor extends Error {
  override readonly name = 'BadCursor'
  constructor() {
    super('the cursor does not belong to this list')
  }
}

export interface PageRequest<Column extends string> {
  limit: number
  cursor?: string | null | undefined
  /**
   * Sort columns: the last one must be unique, none may be null. A column of a join is `table.column`; the row must hold `column`.
   */
  by: readonly [Column, ...Column[]]
  direction: 'asc' | 'desc'
}

export interface Page<Row> {
  rows: readonly Row[]
  nextCursor: string | null
}

/** The response body of a list route. */
export const listResponse = <Row, Shown>({ rows, nextCursor }: Page<Row>, show: (row: Row) => Shown) => ({
  data: rows.map((row) => show(row)),
  nextCursor,
})

/** `listResponse` for prepared pages: memoized, so that `show` is called again only for rows that changed. */
export function createListResponse<Row extends object, Shown extends object>(show: (row: Row) => Shown) {
  const shownOf = memoizeByRows(show)
  return memoizeByRows(({ rows, nextCursor }: Page<Row>) => ({ data: rows.map((row) => shownOf(row)), nextCursor }))
}

/**
 * Returns one page of `query`, which must not be ordered or limited already. Rows inserted or deleted between pages do not shift
 * it.
 */
export async function page<DB, TB extends keyof DB, Row>(
  query: SelectQueryBuilder<DB, TB, Row>,
  request: PageRequest<SortColumn<DB, TB>>,
): Promise<Page<Row>> {
  // The columns are checked by the signature; Kysely's own types cannot follow a list of them.
  const { by, direction, limit, cursor } = request as PageRequest<never>
  const order = [...by, direction].join(' ')
  let paged = query
  if (cursor != null) {
    const last = decodeCursor(cursor, order)
    paged = paged.where(({ eb, refTuple, tuple }) =>
      eb(refTuple(...(by as unknown as [never, never])), direction === 'asc' ? '>' : '<', tuple(...(last as [never, never]))),
    )
  }
  for (const column of by) paged = paged.orderBy(column, direction)
  const rows = await paged
    .limit(limit + 1)
    .execute()
    .catch((error: unknown) => {
      throw cursor != null && isInvalidValue(error) ? new BadCursor() : error
    })
  return cutToPage(rows, limit, by, direction)
}

/** The query fetches one row more than the limit; if it is there, another page follows. */
function cutToPage<Row>(found: readonly Row[], limit: number, by: readonly string[], direction: string): Page<Row> {
  if (found.length <= limit) return { rows: found, nextCursor: null }
  const rows = found.slice(0, limit)
  return { rows, nextCursor: encodeCursor(rows.at(-1) as Record<string, unknown>, by, [...by, direction].join(' ')) }
}

/** `page` for lists that are read often: its queries are prepared. `build` gets placeholders, as in `preparedQuery`. */
export function preparedPage<
  Parameters extends { [Name in keyof Parameters]?: string | undefined },
  TB extends keyof Schema,
  Row,
>(
  build: (db: Db, parameters: Parameters) => SelectQueryBuilder<Schema, TB, Row>,
  order: Pick<PageRequest<SortColumn<Schema, TB>>, 'by' | 'direction'>,
) {
  const { by, direction } = order as PageRequest<never>
  const name = [...by, direction].join(' ')
  const rowsOf = preparedQuery<Parameters & { limit: number }, Row>((db, parameters) => {
    let query = build(db, parameters)
    const last = by.map((_, at) => (parameters as Record<string, unknown>)[`after${at}`])
    if (last[0] !== undefined)
      query = query.where(({ eb, refTuple, tuple }) =>
        eb(refTuple(...(by as unknown as [never, never])), direction === 'asc' ? '>' : '<', tuple(...(last as [never, never]))),
      )
    for (const column of by) query = query.orderBy(column, direction)
    return query.limit(parameters.limit)
  })
  // Pages are memoized by their rows, without the limit: a result above the limit has exactly one row more than the limit.
  const wholePage = memoizeByRows((rows: readonly Row[]): Page<Row> => ({ rows, nextCursor: null }))
  const cutPage = memoizeByRows((rows: readonly Row[]): Page<Row> => cutToPage(rows, rows.length - 1, by, direction))
  return (db: Db, parameters: Parameters, { limit, cursor }: { limit: number; cursor?: string | null }): Awaitable<Page<Row>> => {
    const after = cursor == null ? [] : decodeCursor(cursor, name).map((value, at) => [`after${at}`, value])
    const found = rowsOf.all(db, { ...parameters, limit: limit + 1, ...Object.fromEntries(after) })
    const toPage = (rows: readonly Row[]) => (rows.length > limit ? cutPage(rows) : wholePage(rows))
    if (!(found instanceof Promise)) return toPage(found)
    return found.then(toPage, (error: unknown) => {
      throw cursor != null && isInvalidValue(error) ? new BadCursor() : error
    })
  }
}

type SortColumn<DB, TB extends keyof DB> = {
  [Table in TB & string]: (keyof DB[Table] & string) | `${Table}.${keyof DB[Table] & string}`
}[TB & string]

type SortValue = string | number

function encodeCursor(row: Record<string, unknown>, by: readonly string[], order: string): string {
  const values = by.map((column) => row[column.slice(column.lastIndexOf('.') + 1)])
  if (!values.every(isSortValue)) throw new Error(`a list ordered by ${order} must select those columns, and none may be null`)
  return Buffer.from(JSON.stringify([order, ...values])).toString('base64url')
}

function decodeCursor(cursor: string, order: string): SortValue[] {
  let content: unknown
  try {
    content = JSON.parse(Buffer.from(cursor, 'base64url').toString())
  } catch {
    throw new BadCursor()
  }
  if (!Array.isArray(content) || content[0] !== order) throw new BadCursor()
  const values = content.slice(1)
  if (values.length !== order.split(' ').length - 1 || !values.every(isSortValue)) throw new BadCursor()
  return values
}

function isSortValue(value: unknown): value is SortValue {
  return typeof value === 'string' || typeof value === 'number'
}

/** Returns one page of a list that is defined in code; the cursor names the last item of the previous page. */
export function pageOf<Item extends { id: string }>(
  items: readonly Item[],
  { limit = 100, cursor }: { limit?: number; cursor?: string },
) {
  const start = cursor === undefined ? 0 : items.findIndex(({ id }) => id === decodeId(cursor)) + 1
  if (cursor !== undefined && start === 0) throw new BadCursor()
  const rows = items.slice(start, start + limit)
  const hasMore = start + limit < items.length
  return { rows, nextCursor: hasMore ? encodeId(rows.at(-1)!.id) : null }
}

const encodeId = (id: string) => Buffer.from(id).toString('base64url')
const decodeId = (cursor: string) => Buffer.from(cursor, 'base64url').toString()
