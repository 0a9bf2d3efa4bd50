import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { openDatabase } from '../../platform/database.ts'
import type { Db } from '../../platform/db/schema.ts'
import type { Config } from '../config/config.ts'
import { InstanceBackupRefused } from './backup-refused.ts'
import { dumpPostgres, loadPostgres, refuseFilled } from './postgres-copy.ts'

const sqliteFile = 'berth.db'
const postgresFile = 'berth.sql'

/** In the data folder, where none of them is copied as it lies there. */
export const databaseFiles = [sqliteFile, `${sqliteFile}-wal`, `${sqliteFile}-shm`, postgresFile]

/** Its name in an archive. */
export const databaseFileOf = ({ databaseUrl }: Config) => (databaseUrl ? postgresFile : sqliteFile)

/** The database as of one moment, as a file; and what `look` finds in it. */
export async function snapshotDatabase<Found>(config: Config, file: string, look: (db: Db) => Promise<Found>): Promise<Found> {
  const database = await openDatabase({ url: config.databaseUrl?.reveal(), folder: config.dataDir })
  try {
    if (config.databaseUrl) await dumpPostgres(config.databaseUrl.reveal(), file, config.environment)
    else await sql`vacuum into ${file}`.execute(database.db)
    return await look(database.db)
  } finally {
    await database.close()
  }
}

/** Before anything is brought back: an instance does not change its kind of database by that. */
export async function checkDatabase(config: Config): Promise<void> {
  const isPostgres = existsSync(join(config.dataDir, postgresFile))
  if (!isPostgres && config.databaseUrl)
    throw new InstanceBackupRefused('The backup is from an instance on SQLite. Restore it without BERTH_DATABASE_URL.')
  if (isPostgres && !config.databaseUrl)
    throw new InstanceBackupRefused(
      'The backup is from an instance on PostgreSQL. Set BERTH_DATABASE_URL to a new, empty database.',
    )
  if (config.databaseUrl) await refuseFilled(config.databaseUrl.reveal(), config.environment)
}

/** SQLite's file is where it belongs already. */
export async function loadDatabase({ dataDir, databaseUrl, environment }: Config): Promise<void> {
  if (!databaseUrl) return
  const dump = join(dataDir, postgresFile)
  await loadPostgres(databaseUrl.reveal(), dump, environment)
  await rm(dump)
}
