import type { CompiledQuery, QueryResult } from 'kysely'
import type { Db } from './schema.ts'

type Execute = ReturnType<Db['getExecutor']>['executeQuery']

/** Runs `intercept` for each statement of `db` that may write; `execute` runs the statement itself. */
export function watchWrites(
  db: Db,
  intercept: <Row>(query: CompiledQuery<Row>, execute: () => Promise<QueryResult<Row>>) => Promise<QueryResult<Row>>,
): void {
  // A transaction has an executor of its own: the root database's is not used inside one.
  const executor = db.getExecutor()
  const execute: Execute = executor.executeQuery.bind(executor)
  executor.executeQuery = (query, options) =>
    mayWrite(query) ? intercept(query, () => execute(query, options)) : execute(query, options)
}

const selectStatement = /^\s*select\b/i

const mayWrite = ({ query: { kind }, sql }: CompiledQuery): boolean =>
  kind !== 'SelectQueryNode' && (kind !== 'RawNode' || !selectStatement.test(sql))

/** False if an update or a deletion matched no row. */
export const hasChanged = ({ numAffectedRows, rows }: QueryResult<unknown>): boolean =>
  numAffectedRows === undefined || numAffectedRows > 0n || rows.length > 0
