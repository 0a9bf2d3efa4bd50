import { statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { CliError } from '../exit-codes.ts'
import type { VersionFacts } from './install-version.ts'

/** Refuses a version that does not know every migration of the database; an older version that knows all of them is allowed. */
export function refuseUnknownMigrations(current: VersionFacts, target: VersionFacts): void {
  const unknown = current.migrations.filter((name) => !target.migrations.includes(name))
  if (unknown.length === 0) return
  throw new CliError(
    `Version ${target.version} does not know the migration ${unknown.at(-1)} of this database. Restore a backup from before it instead.`,
  )
}

const megabyte = 1_000_000
/** The package with Node, and the backup of the database's files. */
const besideDatabaseBytes = 300 * megabyte

/** Refuses a disk that cannot hold the package, the copies of the database, and the log of its migration. */
export function requireSpace(dataDir: string, freeBytes = freeOn(dataDir)): void {
  const needed = besideDatabaseBytes + 3 * databaseBytes(dataDir)
  if (freeBytes >= needed) return
  const text = (bytes: number) => `${Math.ceil(bytes / megabyte)} MB`
  throw new CliError(
    `The upgrade needs ${text(needed)} of free disk space for ${dataDir}, and ${text(freeBytes)} are free. Free space first.`,
  )
}

function freeOn(path: string): number {
  const { bavail, bsize } = statfsSync(path)
  return bavail * bsize
}

const databaseBytes = (dataDir: string): number =>
  ['berth.db', 'berth.db-wal'].reduce(
    (total, name) => total + (statSync(join(dataDir, name), { throwIfNoEntry: false })?.size ?? 0),
    0,
  )
