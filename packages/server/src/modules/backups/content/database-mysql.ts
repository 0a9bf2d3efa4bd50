import { type DatabaseKind, type RunningUnit, trialDatabase } from './database-kind.ts'
import { runInside, textOf } from './exec-output.ts'
import { imageName } from './image-name.ts'

const excludedDatabases = ['information_schema', 'performance_schema', 'mysql', 'sys', trialDatabase]

/** Dumps each database with `mariadb-dump` or `mysqldump`, in one transaction. */
export const mysql: DatabaseKind = {
  kind: 'mysql',
  recognises: ({ image }) => /^(mysql|mariadb|percona|percona-server|mysql-server)$/.test(imageName(image)),
  async dumps(unit, abort) {
    const access = connectionOf(unit)
    const output = await statement(unit, 'SELECT schema_name FROM information_schema.schemata', abort)
    const databases = output.split('\n').filter((name) => name !== '' && !excludedDatabases.includes(name))
    const options = ['--single-transaction', '--quick', '--routines', '--events', '--triggers', '--hex-blob', '--skip-dump-date']
    return databases.map((database) => ({
      name: database,
      extension: 'sql',
      command: { argv: [access.dump, ...access.arguments, ...options, '--', database], env: access.env },
      details: { service: unit.service, database },
    }))
  },
  load: (unit, { database = '' }, content, abort) => reload(unit, database, content, abort),
  async tryRestore(unit, _details, content, abort) {
    try {
      await reload(unit, trialDatabase, content, abort)
      const tables = `SELECT count(*) FROM information_schema.tables WHERE table_schema = '${trialDatabase}' AND table_type = 'BASE TABLE'`
      return Number(await statement(unit, tables, abort))
    } finally {
      await statement(unit, `DROP DATABASE IF EXISTS ${trialDatabase}`, abort)
    }
  },
}

async function reload(unit: RunningUnit, database: string, stdin: AsyncIterable<Uint8Array>, abort: AbortSignal) {
  const { client, arguments: userArguments, env } = connectionOf(unit)
  await statement(unit, `DROP DATABASE IF EXISTS ${quoted(database)}`, abort)
  await statement(unit, `CREATE DATABASE ${quoted(database)}`, abort)
  const argv = [client, ...userArguments, `--database=${database}`]
  await runInside(unit.runtime, unit.instance.id, { argv, env, stdin }, abort)
}

const quoted = (name: string) => `\`${name.replaceAll('`', '``')}\``

/** Connects as root where the service's environment has root's password, else as its configured user. */
function connectionOf({ image, env }: RunningUnit) {
  const isMaria = imageName(image) === 'mariadb'
  const [client, dump] = isMaria ? ['mariadb', 'mariadb-dump'] : ['mysql', 'mysqldump']
  const root = env.MARIADB_ROOT_PASSWORD ?? env.MYSQL_ROOT_PASSWORD
  const user = root === undefined ? (env.MARIADB_USER ?? env.MYSQL_USER ?? 'root') : 'root'
  const password = root ?? env.MARIADB_PASSWORD ?? env.MYSQL_PASSWORD
  return {
    client,
    dump,
    arguments: [`--user=${user}`],
    env: password ? { MYSQL_PWD: password } : {},
  } as { client: string; dump: string; arguments: string[]; env: Record<string, string> }
}

function statement(unit: RunningUnit, text: string, abort: AbortSignal): Promise<string> {
  const { client, arguments: userArguments, env } = connectionOf(unit)
  const argv = [client, ...userArguments, '--batch', '--skip-column-names', `--execute=${text}`]
  return textOf(unit.runtime, unit.instance.id, { argv, env }, abort)
}
