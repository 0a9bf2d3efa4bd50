import { existsSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { openDatabase } from '../../platform/database.ts'
import type { Db } from '../../platform/db/schema.ts'
import type { Config } from '../config/config.ts'
import { InstanceBackupRefused } from './backup-refused.ts'
import { dumpPostgres, loadPostgres, refuseNonEmpty } from './postgres-copy.ts'

const sqliteFile = 'berth.db'
const postgresFile = 'berth.sql'

/** Database files in the data folder, which are never copied directly. */
export const databaseFiles = [sqliteFile, `${sqliteFile}-wal`, `${sqliteFile}-shm`, postgresFile]

/** The database file's name in an archive. */
export const databaseFileOf = ({ databaseUrl }: Config) => (databaseUrl ? postgresFile : sqliteFile)

/**
 * Writes a consistent snapshot of the database to a file; returns the result of `check` on it. `withMachine`: for the same machine,
 * which keeps the projects.
 */
export async function snapshotDatabase<Found>(
  config: Config,
  file: string,
  check: (db: Db) => Promise<Found>,
  { withMachine = false } = {},
): Promise<Found> {
  const database = await openDatabase({ url: config.databaseUrl?.reveal(), folder: config.dataDir })
  try {
    if (config.databaseUrl) await dumpPostgres(config.databaseUrl.reveal(), file, config.environment, { withMachine })
    else await sql`vacuum into ${file}`.execute(database.db)
    return await check(database.db)
  } finally {
    await database.close()
  }
}

/** Checks the target database before a restore: the kind of database must not change. */
export async function checkDatabase(config: Config): Promise<void> {
  const isPostgres = existsSync(join(config.dataDir, postgresFile))
  if (!isPostgres && config.databaseUrl)
    throw new InstanceBackupRefused('The backup is from an instance on SQLite. Restore it without BERTH_DATABASE_URL.')
  if (isPostgres && !config.databaseUrl)
    throw new InstanceBackupRefused(
      'The backup is from an instance on PostgreSQL. Set BERTH_DATABASE_URL to a new, empty database.',
    )
  if (config.databaseUrl) await refuseNonEmpty(config.databaseUrl.reveal(), config.environment)
}

/** Loads the PostgreSQL dump. The SQLite file is already in place. */
export async function loadDatabase({ dataDir, databaseUrl, environment }: Config): Promise<void> {
  if (!databaseUrl) return
  const dump = join(dataDir, postgresFile)
  await loadPostgres(databaseUrl.reveal(), dump, environment)
  await rm(dump)
}

/** Moves a snapshot to the place of the SQLite database, which no process has open. Needs no space on the disk. */
export async function restoreSqlite(dataDir: string, file: string): Promise<void> {
  if (!existsSync(file)) return
  const database = join(dataDir, sqliteFile)
  // A log of the replaced database would be applied to the snapshot.
  await Promise.all(['-wal', '-shm'].map((end) => rm(`${database}${end}`, { force: true })))
  await rename(file, database)
}
