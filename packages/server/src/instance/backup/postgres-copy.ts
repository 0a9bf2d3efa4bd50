import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { InstanceBackupRefused } from '../../drivers/archive/instance-backup-refused.ts'
import { ProgramMissing } from '../../drivers/shell/command-errors.ts'
import { createRunCommand } from '../../drivers/shell/run-command.ts'

/** Time limit of a step of a backup or restore of the instance. */
export const maxCopyMs = 24 * 3_600_000

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Dumps the instance's PostgreSQL database with `pg_dump`, as a consistent snapshot. Unless `withMachine` is set, the record of the
 * machine is left out: the first machine that starts on the restored database runs the projects.
 */
export async function dumpPostgres(
  url: string,
  file: string,
  environment: Environment,
  { withMachine = false } = {},
): Promise<void> {
  const content = withMachine ? [] : ['--exclude-table-data=machines']
  await run('pg_dump', ['--no-password', '--no-owner', '--no-privileges', ...content, `--file=${file}`], url, environment)
}

const psql = ['--no-psqlrc', '--no-password', '--quiet', '--tuples-only', '--no-align', '--set=ON_ERROR_STOP=1']
const count = `SELECT count(*) FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`

export async function refuseNonEmpty(url: string, environment: Environment): Promise<void> {
  const tables = await run('psql', [...psql, `--command=${count}`], url, environment)
  if (Number(tables) !== 0)
    throw new InstanceBackupRefused('The database of BERTH_DATABASE_URL is not empty. Use a new database.')
}

/** Loads a dump into an empty database, in one transaction. */
export async function loadPostgres(url: string, file: string, environment: Environment): Promise<void> {
  await refuseNonEmpty(url, environment)
  await run('psql', [...psql, '--single-transaction', `--file=${file}`], url, environment)
}

const dropTables = `DO $$ DECLARE one record; BEGIN
  FOR one IN SELECT schemaname, tablename FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema') LOOP
    EXECUTE format('DROP TABLE IF EXISTS %I.%I CASCADE', one.schemaname, one.tablename);
  END LOOP;
END $$`

/**
 * Replaces the content of the database by that of a dump, in one transaction. Removes the dump. If no dump exists, it was loaded
 * before.
 */
export async function replacePostgres(url: string, file: string, environment: Environment): Promise<void> {
  if (!existsSync(file)) return
  await run('psql', [...psql, '--single-transaction', `--command=${dropTables}`, `--file=${file}`], url, environment)
  await rm(file)
}

async function run(program: string, args: string[], url: string, environment: Environment): Promise<string> {
  try {
    const options = { timeoutMs: maxCopyMs, maxOutputBytes: 16_384 }
    const { stdout } = await createRunCommand(environment)({ program, args, env: postgresEnvironment(url) }, options)
    return stdout
  } catch (error) {
    if (!(error instanceof ProgramMissing)) throw error
    throw new InstanceBackupRefused(
      `The database is PostgreSQL, but ${program} is not installed. Install the PostgreSQL client programs in the version of the server.`,
    )
  }
}

/** URL parameters and the equivalent variables of PostgreSQL's own programs. */
const parameters = {
  host: 'PGHOST',
  port: 'PGPORT',
  user: 'PGUSER',
  password: 'PGPASSWORD',
  sslmode: 'PGSSLMODE',
  sslrootcert: 'PGSSLROOTCERT',
  sslcert: 'PGSSLCERT',
  sslkey: 'PGSSLKEY',
  options: 'PGOPTIONS',
}

/** Connection settings as environment variables, so that the password is not in the process list. */
export function postgresEnvironment(url: string): Record<string, string> {
  const { hostname, port, username, password, pathname, searchParams } = new URL(url)
  const fromParameters = Object.entries(parameters).flatMap(([name, variable]) => {
    const value = searchParams.get(name)
    return value === null ? [] : [[variable, value] as const]
  })
  const access: Record<string, string> = {
    ...(hostname ? { PGHOST: decodeURIComponent(hostname.replace(/^\[(.*)\]$/, '$1')) } : {}),
    ...(port ? { PGPORT: port } : {}),
    ...(username ? { PGUSER: decodeURIComponent(username) } : {}),
    ...(password ? { PGPASSWORD: decodeURIComponent(password) } : {}),
    PGDATABASE: decodeURIComponent(pathname.slice(1)),
    ...Object.fromEntries(fromParameters),
  }
  // `no-verify` exists only in our driver: encrypted, without checking the certificate.
  if (access.PGSSLMODE === 'no-verify') access.PGSSLMODE = 'require'
  return access
}
