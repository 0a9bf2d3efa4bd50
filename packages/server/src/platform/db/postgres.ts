import { createHash } from 'node:crypto'
import { type Dialect, PostgresDialect, PostgresQueryCompiler } from 'kysely'
import pg from 'pg'
import { errorMessage } from '../error-message.ts'
import type { Log } from '../log.ts'
import { storedValue } from './columns.ts'
import type { DirectReads } from './direct-reads.ts'
import { assertOutsideTransaction } from './open-transaction.ts'
import { PostgresReadCache } from './postgres-read-cache.ts'
import { noteUnavailable } from './unavailable.ts'

const poolSize = 10

export interface PostgresParts {
  dialect: Dialect
  direct: DirectReads
}

export function postgresParts(url: string, log: Log): PostgresParts {
  const pool = new pg.Pool({
    ...connectionSettings(url),
    max: poolSize,
    idleTimeoutMillis: 30_000,
    connectionTimeoutMillis: 10_000,
  })
  // Without a listener, a server that restarts while a client is idle would end this process.
  pool.on('error', (error) => log.warn({ err: error }, 'database: idle PostgreSQL connection lost'))
  // The pool does not listen between two queries of a transaction. An error there is ignored: the next query fails.
  pool.on('connect', (client) => {
    client.on('error', () => {})
    noteLostQueries(client)
    // Statements are short. With poor statistics, compiling one to machine code takes a hundred times as long as running it.
    client.query('set jit = off').catch(() => {})
  })
  const statementNames = new Map<string, string>()
  return {
    dialect: new BerthPostgresDialect({
      pool: {
        connect: async () => {
          assertOutsideTransaction()
          return await pool.connect().catch(rethrowNoted)
        },
        end: () => pool.end(),
        options: pool.options,
      },
      controlClient: pg.Client,
    }),
    direct: new PostgresReadCache(async (sql, parameters) => {
      const name = statementNames.get(sql) ?? nameStatement(sql, statementNames)
      const statement = { text: sql, values: parameters as unknown[] }
      const { rows } = await pool.query<Record<string, unknown>>({ name, ...statement }).catch((error: unknown) => {
        if (!isOutdatedPlan(error)) throw noteUnavailable(error)
        return pool.query<Record<string, unknown>>(statement).catch(rethrowNoted)
      })
      return rows
    }),
  }
}

const rethrowNoted = (error: unknown): never => {
  throw noteUnavailable(error)
}

/** Marks the errors of queries that ended because their connection was lost. */
function noteLostQueries(client: pg.PoolClient): void {
  const query = client.query.bind(client) as (...args: unknown[]) => unknown
  client.query = ((...args: unknown[]) => {
    const result = query(...args)
    return result instanceof Promise ? result.catch(rethrowNoted) : result
  }) as typeof client.query
}

/** Connection settings of the pool, and of clients outside it, such as the one that listens for signals. */
export function connectionSettings(url: string): pg.ClientConfig {
  return {
    connectionString: url,
    application_name: 'berth',
    keepAlive: true,
    types: { getTypeParser: typeParser } as pg.CustomTypesConfig,
  }
}

class BerthPostgresDialect extends PostgresDialect {
  override createQueryCompiler(): PostgresQueryCompiler {
    return new FlagsAsNumbers()
  }
}

class FlagsAsNumbers extends PostgresQueryCompiler {
  protected override appendValue(parameter: unknown): void {
    super.appendValue(storedValue(parameter))
  }
}

/** Names a statement: PostgreSQL keeps the plan of a named statement as long as the connection is open. */
function nameStatement(sql: string, names: Map<string, string>): string {
  const name = `berth_${createHash('sha256').update(sql).digest('hex').slice(0, 24)}`
  names.set(sql, name)
  return name
}

/** A newer control plane has added a column since the statement was planned. The pool has closed the connection with that plan. */
const isOutdatedPlan = (error: unknown) =>
  (error as { code?: string }).code === '0A000' && errorMessage(error).includes('cached plan')

const { INT8, NUMERIC } = pg.types.builtins

/** Parses counts, sums and bigint columns as numbers, as SQLite does. */
function typeParser(oid: number, format?: 'text' | 'binary'): unknown {
  if (oid === INT8) return toSafeNumber
  if (oid === NUMERIC) return Number
  return pg.types.getTypeParser(oid, format as 'text')
}

function toSafeNumber(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError(`the database contains ${text}, which is too large for a number`)
  return value
}
