import { setTimeout as pause } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import type { Log } from '../log.ts'
import type { Migration } from './migrations/index.ts'
import { insideTransaction } from './open-transaction.ts'
import type { Db } from './schema.ts'
import { isMissingTable } from './violations.ts'

/** A newer version of Berth wrote the database; this version could damage data that it does not know. */
export class SchemaIsNewer extends Error {
  override readonly name = 'SchemaIsNewer'
}

interface MigrationTables {
  schemaMigrations: { name: string; appliedAt: number }
}

/** Conditions that are checked before the first missing migration is applied. */
export interface BeforeMigrating {
  /** True: another process migrates the database, and this one waits for it. */
  wait?: boolean
  /** Rejects if this process may not migrate the database, which is then unchanged. */
  check?(db: Db): Promise<void>
}

const waitPauseMs = 500

/**
 * Migrates the database to the schema of this version. Each migration commits together with its record and under a lock: neither
 * a crash nor a second control plane can apply a migration twice or partly. A new database gets all of them in one commit, since
 * each commit waits for the disk.
 */
export async function migrate(
  root: Db,
  kind: 'sqlite' | 'postgres',
  migrations: readonly Migration[],
  log: Log,
  { wait = false, check }: BeforeMigrating = {},
): Promise<void> {
  const db = root as unknown as Kysely<MigrationTables>
  if (wait) return await waitUntilMigrated(db, migrations, log)
  await locked(db, kind, (tx) =>
    tx.schema
      .createTable('schemaMigrations')
      .ifNotExists()
      .addColumn('name', 'text', (column) => column.primaryKey())
      .addColumn('appliedAt', 'bigint', (column) => column.notNull())
      .execute(),
  )
  const applied = await appliedNames(db)
  refuseNewerSchema(applied, migrations)
  if (check && applied.length > 0 && applied.length < migrations.length) await check(root)
  const missing = migrations.filter((migration) => !applied.includes(migration.name))
  const commits = applied.length === 0 ? [missing] : missing.map((migration) => [migration])
  const done: string[] = []
  for (const commit of commits) done.push(...(await locked(db, kind, (tx) => applyMissing(tx, commit, log))))
  if (done.length > 0) log.info({ count: done.length, schema: done.at(-1) }, 'database: schema migrated')
}

/** Applies the migrations that no other process has applied meanwhile, and returns their names. */
async function applyMissing(tx: Kysely<MigrationTables>, migrations: readonly Migration[], log: Log): Promise<readonly string[]> {
  const applied = await appliedNames(tx)
  const missing = migrations.filter((migration) => !applied.includes(migration.name))
  for (const migration of missing) {
    await migration.up(tx as unknown as Kysely<unknown>)
    await tx.insertInto('schemaMigrations').values({ name: migration.name, appliedAt: Date.now() }).execute()
    log.debug({ migration: migration.name }, 'database: migration applied')
  }
  return missing.map((migration) => migration.name)
}

async function waitUntilMigrated(db: Kysely<MigrationTables>, migrations: readonly Migration[], log: Log): Promise<void> {
  for (let isReported = false; ; isReported = true) {
    const applied = await appliedNames(db).catch((error: unknown) => {
      if (isMissingTable(error)) return []
      throw error
    })
    refuseNewerSchema(applied, migrations)
    if (applied.length === migrations.length) return
    if (!isReported)
      log.warn(
        { schema: migrations.at(-1)?.name },
        'database: waiting until the worker of this version has started and migrated the schema',
      )
    await pause(waitPauseMs)
  }
}

/** `berth` in ASCII: one lock of the database for all control planes. */
const lockKey = 0x6265727468

function locked<Result>(
  db: Kysely<MigrationTables>,
  kind: 'sqlite' | 'postgres',
  work: (tx: Kysely<MigrationTables>) => Promise<Result>,
): Promise<Result> {
  return db.transaction().execute(async (tx) => {
    // On SQLite a transaction holds the write lock of the file from its start.
    if (kind === 'postgres') await sql`select pg_advisory_xact_lock(${lockKey})`.execute(tx)
    return await insideTransaction(() => work(tx))
  })
}

async function appliedNames(db: Kysely<MigrationTables>): Promise<string[]> {
  return (await db.selectFrom('schemaMigrations').select('name').orderBy('name').execute()).map((row) => row.name)
}

function refuseNewerSchema(applied: readonly string[], migrations: readonly Migration[]): void {
  const unknown = applied.filter((name) => !migrations.some((migration) => migration.name === name))
  if (unknown.length === 0) return
  throw new SchemaIsNewer(
    `The database has schema ${unknown.at(-1)}, but this version of Berth supports only up to ${migrations.at(-1)?.name}. Start the newer version.`,
  )
}
