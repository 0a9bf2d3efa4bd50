import { chmod, mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import manifest from '../../../package.json' with { type: 'json' }
import { openDatabase } from '../../platform/database.ts'
import { migrations } from '../../platform/db/migrations/index.ts'
import { restoreSqlite, snapshotDatabase } from '../backup/database-copy.ts'
import { replacePostgres } from '../backup/postgres-copy.ts'
import type { Config } from '../config/config.ts'
import { openDataFolder } from '../data-folder.ts'

/** Version of the commands that an upgrade runs in the previous version and in the new one. */
const protocol = 1

export interface VersionFacts {
  version: string
  protocol: number
  /** Names of the migrations that this version knows. */
  migrations: string[]
}

export const describeVersion = (): VersionFacts => ({
  version: manifest.version,
  protocol,
  migrations: migrations.map(({ name }) => name),
})

/** Writes a consistent copy of the database, also while an instance runs. The file is complete if it exists. */
export async function copyDatabase(config: Config, file: string): Promise<void> {
  const partial = `${file}.part`
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  await Promise.all([rm(partial, { force: true }), rm(file, { force: true })])
  await snapshotDatabase(config, partial, async () => undefined, { withMachine: true })
  await chmod(partial, 0o600)
  await flush(partial)
  await rename(partial, file)
  await flush(dirname(file))
}

/** Migrates the copy `berth.db` of a folder. */
export async function rehearseMigration(folder: string): Promise<void> {
  const database = await openDatabase({ folder })
  await database.close()
}

/** Migrates the database while no control plane runs. */
export const migrateDatabase = (config: Config): Promise<void> =>
  whileStopped(config, async () => {
    const database = await openDatabase({ url: config.databaseUrl?.reveal(), folder: config.dataDir })
    await database.close()
  })

/** Moves a copy of the database to its path while no control plane runs. If no copy exists, it was moved before. */
export const restoreDatabase = (config: Config, file: string): Promise<void> =>
  whileStopped(config, async () => {
    if (config.databaseUrl) await replacePostgres(config.databaseUrl.reveal(), file, config.environment)
    else await restoreSqlite(config.dataDir, file)
    await flush(config.dataDir)
  })

async function whileStopped(config: Config, work: () => Promise<void>): Promise<void> {
  const folder = await openDataFolder(config.dataDir, { purpose: 'down', version: manifest.version })
  try {
    await work()
  } finally {
    folder.release()
  }
}

async function flush(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
