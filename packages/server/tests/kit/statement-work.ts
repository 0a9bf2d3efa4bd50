import { CompiledQuery, sql } from 'kysely'
import { directReadsOf } from '../../src/platform/db/direct-reads.ts'
import type { Db } from '../../src/platform/db/schema.ts'

export interface Statement {
  sql: string
  parameters: readonly unknown[]
}

/** Returns the selects that run on the root database during `work`, without repetitions. */
export async function selectsDuring(db: Db, work: () => Promise<unknown>): Promise<Statement[]> {
  const found = new Map<string, Statement>()
  const note = (statement: Statement) => {
    if (/^\s*(select|with)\b/i.test(statement.sql)) found.set(JSON.stringify(statement), statement)
  }
  const direct = directReadsOf(db) as { read(sql: string, parameters: readonly unknown[]): unknown }
  const executor = db.getExecutor()
  const [read, execute] = [direct.read, executor.executeQuery]
  direct.read = (text, parameters) => {
    note({ sql: text, parameters })
    return read.call(direct, text, parameters)
  }
  executor.executeQuery = (query, ...rest) => {
    note({ sql: query.sql, parameters: query.parameters })
    return execute.call(executor, query, ...rest) as never
  }
  try {
    await work()
  } finally {
    direct.read = read
    executor.executeQuery = execute
  }
  return [...found.values()]
}

interface PlanNode {
  'Node Type': string
  'Relation Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  'Rows Removed by Index Recheck'?: number
  Plans?: PlanNode[]
}

/** Counts the rows that PostgreSQL reads from tables for the statement: the larger count of the custom and the generic plan. */
export async function rowsReadBy(db: Db, { sql: text, parameters }: Statement): Promise<{ rows: number; plan: string }> {
  return db.connection().execute(async (connection) => {
    const run = async (statement: string) => (await sql.raw<Record<string, unknown>>(statement).execute(connection)).rows
    let most = { rows: 0, plan: '' }
    // The tables of a test are so small that a sequential scan may be the best plan.
    await run('set enable_seqscan = off')
    await run(`prepare measured as ${text}`)
    for (const mode of ['force_custom_plan', 'force_generic_plan']) {
      await run(`set plan_cache_mode = ${mode}`)
      const values = parameters.length > 0 ? `(${parameters.map(literal).join(', ')})` : ''
      const [row] = await run(`explain (analyze, timing off, format json) execute measured${values}`)
      const [{ Plan }] = row!['QUERY PLAN'] as [{ Plan: PlanNode }]
      const rows = rowsOf(Plan)
      if (rows >= most.rows) most = { rows, plan: `${mode} ${JSON.stringify(Plan)}` }
    }
    await run('deallocate measured')
    await run('reset all')
    return most
  })
}

function rowsOf(node: PlanNode): number {
  const own =
    node['Relation Name'] === undefined
      ? 0
      : (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0)) *
        node['Actual Loops']
  return (node.Plans ?? []).reduce((sum, child) => sum + rowsOf(child), own)
}

function literal(value: unknown): string {
  if (value === null || value === undefined) return 'null'
  if (typeof value === 'number') return String(value)
  return `'${String(value).replaceAll("'", "''")}'`
}

/** The steps of SQLite's plan, with the name of the table in place of its alias. */
export async function stepsOf(db: Db, { sql: text, parameters }: Statement): Promise<string[]> {
  const aliases = new Map([...text.matchAll(/"(\w+)" as "(\w+)"/g)].map(([, table, alias]) => [alias!, table!]))
  const { rows } = await db.executeQuery<{ detail: string }>(CompiledQuery.raw(`explain query plan ${text}`, [...parameters]))
  return rows.map(({ detail }) =>
    detail.replace(/^(SCAN|SEARCH) (\w+)/, (_, kind, name) => `${kind} ${aliases.get(name) ?? name}`),
  )
}
