import { type DatabaseKind, type RunningUnit, trialDatabase } from './database-kind.ts'
import { runInside, textOf } from './exec-output.ts'
import { imageName } from './image-name.ts'

const names = /^(postgres|postgresql|postgis|pgvector|timescaledb|timescaledb-ha|cloudnative-pg|supabase-postgres)$/

/** Dumps each database with `pg_dump`, and server-wide objects (roles, grants) with `pg_dumpall`. */
export const postgres: DatabaseKind = {
  kind: 'postgres',
  recognises: ({ image, env }) =>
    names.test(imageName(image)) || (/postgres|pgsql/.test(imageName(image)) && 'POSTGRES_PASSWORD' in env),
  async dumps(unit, abort) {
    const { service } = unit
    const output = await psql(
      unit,
      'postgres',
      'SELECT datname FROM pg_database WHERE datallowconn AND NOT datistemplate ORDER BY 1',
      abort,
    )
    const databases = output.split('\n').filter((name) => name !== '' && name !== trialDatabase)
    const access = connectionOf(unit)
    return [
      {
        name: 'globals',
        extension: 'sql',
        command: { argv: ['pg_dumpall', '--globals-only', ...access.arguments], env: access.env },
        details: { service, globals: true },
      },
      ...databases.map((database) => ({
        name: database,
        extension: 'sql',
        command: { argv: ['pg_dump', '--no-password', ...access.arguments, `--dbname=${connection(database)}`], env: access.env },
        details: { service, database },
      })),
    ]
  },
  async load(unit, { database, globals }, content, abort) {
    // Roles that already exist cause errors, so the load continues after errors.
    if (globals || database === undefined) return load(unit, 'postgres', content, abort)
    const [newName, oldName] = [`${database}_berth_new`, `${database}_berth_old`]
    await psql(unit, 'template1', `DROP DATABASE IF EXISTS ${quoted(newName)}`, abort)
    await psql(unit, 'template1', `CREATE DATABASE ${quoted(newName)} TEMPLATE template0`, abort)
    await load(unit, newName, content, abort, ...singleTransaction)
    await psql(unit, 'template1', `DROP DATABASE IF EXISTS ${quoted(oldName)}`, abort)
    await psql(unit, 'template1', swapStatements(database, newName, oldName), abort)
    await psql(unit, 'template1', `DROP DATABASE IF EXISTS ${quoted(oldName)}`, abort)
  },
  async tryRestore(unit, _details, content, abort) {
    const drop = () => psql(unit, 'template1', `DROP DATABASE IF EXISTS ${trialDatabase}`, abort)
    await drop()
    await psql(unit, 'template1', `CREATE DATABASE ${trialDatabase} TEMPLATE template0`, abort)
    try {
      await load(unit, trialDatabase, content, abort, ...singleTransaction)
      const tables = `SELECT count(*) FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`
      return Number(await psql(unit, trialDatabase, tables, abort))
    } finally {
      await drop()
    }
  },
}

const singleTransaction = ['--single-transaction', '--set=ON_ERROR_STOP=1']

function load(unit: RunningUnit, database: string, stdin: AsyncIterable<Uint8Array>, abort: AbortSignal, ...options: string[]) {
  const { arguments: userArguments, env } = connectionOf(unit)
  const argv = [
    'psql',
    '--quiet',
    '--no-psqlrc',
    '--no-password',
    ...userArguments,
    ...options,
    `--dbname=${connection(database)}`,
  ]
  return runInside(unit.runtime, unit.instance.id, { argv, env, stdin }, abort)
}

/** Renames both databases in one transaction: a connecting client finds either the old or the new one. */
function swapStatements(database: string, newName: string, oldName: string): string {
  const literal = `'${database.replaceAll("'", "''")}'`
  return [
    'BEGIN',
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname IN (${literal}, '${newName.replaceAll("'", "''")}') AND pid <> pg_backend_pid()`,
    `DO $$ BEGIN IF EXISTS (SELECT FROM pg_database WHERE datname = ${literal}) THEN ALTER DATABASE ${quoted(database)} RENAME TO ${quoted(oldName)}; END IF; END $$`,
    `ALTER DATABASE ${quoted(newName)} RENAME TO ${quoted(database)}`,
    'COMMIT',
  ].join(';\n')
}

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`
/** Passed as a connection string, so that a name is never parsed as an option or a URL. */
const connection = (database: string) => `dbname='${database.replace(/[\\']/g, '\\$&')}'`

/**
 * Connects through the container's local socket, where the official image trusts its user; the password is for images that do
 * not.
 */
function connectionOf({ env }: RunningUnit): { arguments: string[]; env: Record<string, string> } {
  const user = env.POSTGRES_USER || 'postgres'
  const password = env.POSTGRES_PASSWORD
  return { arguments: [`--username=${user}`], env: password ? { PGPASSWORD: password } : {} }
}

function psql(unit: RunningUnit, database: string, statement: string, abort: AbortSignal): Promise<string> {
  const { arguments: userArguments, env } = connectionOf(unit)
  const argv = ['psql', '--no-psqlrc', '--no-password', '--tuples-only', '--no-align', '--set=ON_ERROR_STOP=1', ...userArguments]
  return textOf(
    unit.runtime,
    unit.instance.id,
    { argv: [...argv, `--dbname=${connection(database)}`, '--file=-'], env, stdin: singleChunk(`${statement};\n`) },
    abort,
  )
}

async function* singleChunk(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text)
}
