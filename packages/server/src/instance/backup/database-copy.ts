import { existsSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { InstanceBackupRefused } from '../../drivers/archive/instance-backup-refused.ts'
import { createRunCommand } from '../../drivers/shell/run-command.ts'
import { openDatabase } from '../../platform/database.ts'
import type { Db } from '../../platform/db/schema.ts'
import type { Config } from '../config/config.ts'
import { dumpPostgres, loadPostgres, maxCopyMs, refuseNonEmpty } from './postgres-copy.ts'

const sqliteFile = 'berth.db'
const postgresFile = 'berth.sql'

/** Database files in the data folder, which are never copied directly. */
export const databaseFiles = [sqliteFile, `${sqliteFile}-wal`, `${sqliteFile}-shm`, postgresFile]

/** The database file's name in an archive. */
export const databaseFileOf = ({ databaseUrl }: Config) => (databaseUrl ? postgresFile : sqliteFile)

interface SnapshotOptions {
  /** Includes the record of the machine, so that it keeps the projects. */
  withMachine?: boolean
  abort?: AbortSignal
}

/** Writes a consistent snapshot of the database to a file; returns the result of `check` on it. */
export async function snapshotDatabase<Found>(
  config: Config,
  file: string,
  check: (db: Db) => Promise<Found>,
  { withMachine = false, abort }: SnapshotOptions = {},
): Promise<Found> {
  const database = await openDatabase({ url: config.databaseUrl?.reveal(), folder: config.dataDir })
  try {
    if (config.databaseUrl) await dumpPostgres(config.databaseUrl.reveal(), file, config.environment, { withMachine })
    else await copySqlite(join(config.dataDir, sqliteFile), file, config, abort)
    return await check(database.db)
  } finally {
    await database.close()
  }
}

const copyProgram = `
const { DatabaseSync } = require('node:sqlite')
const [file, copy] = process.argv.slice(1)
const database = new DatabaseSync(file, { readOnly: true, timeout: 60000 })
database.prepare('vacuum into ?').run(copy)
`

/** Runs in a process of its own: the statement of a large database takes long and would block the event loop. */
async function copySqlite(file: string, copy: string, { environment }: Config, abort: AbortSignal | undefined): Promise<void> {
  const args = ['--no-warnings', '--eval', copyProgram, file, copy]
  const options = { timeoutMs: maxCopyMs, maxOutputBytes: 16_384, ...(abort ? { abort } : {}) }
  await createRunCommand(environment)({ program: process.execPath, args }, options)
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
