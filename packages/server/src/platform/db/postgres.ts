import { type Dialect, PostgresDialect, PostgresQueryCompiler } from 'kysely'
import pg from 'pg'
import type { Log } from '../log.ts'
import { storedValue } from './columns.ts'
import type { DirectReads } from './direct-reads.ts'
import { assertOutsideTransaction } from './open-transaction.ts'
import { PostgresReadCache } from './postgres-read-cache.ts'
import { PostgresStatements, rethrowNoted } from './postgres-statements.ts'
import { noteUnavailable } from './unavailable.ts'
import { isOutdatedPlan } from './violations.ts'

const poolSize = 10

export interface PostgresParts {
  dialect: Dialect
  direct: DirectReads
}

export function postgresParts(url: string, log: Log): PostgresParts {
  const statements = new PostgresStatements()
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
    statements.use(client)
    // Statements are short. With poor statistics, compiling one to machine code takes a hundred times as long as running it.
    client.query('set jit = off').catch(() => {})
  })
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
    direct: new PostgresReadCache(
      async (sql, parameters) => {
        const statement = { text: sql, values: parameters as unknown[] }
        const { rows } = await pool
          .query<Record<string, unknown>>({ name: statements.name(sql), ...statement })
          .catch((error: unknown) => {
            if (!isOutdatedPlan(error)) throw noteUnavailable(error)
            return pool.query<Record<string, unknown>>(statement).catch(rethrowNoted)
          })
        return rows
      },
      undefined,
      (sql) => statements.name(sql),
    ),
  }
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
