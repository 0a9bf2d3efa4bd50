import { type Kysely, sql } from 'kysely'
import type { Log } from '../log.ts'
import type { Migration } from './migrations/index.ts'
import { insideTransaction } from './open-transaction.ts'
import type { Db } from './schema.ts'

/** The database was written by a newer Berth; starting on it could spoil what this build does not know of. */
export class SchemaIsNewer extends Error {
  override readonly name = 'SchemaIsNewer'
}

interface MigrationTables {
  schemaMigrations: { name: string; appliedAt: number }
}

/**
 * Brings the database to this build's schema. Each migration commits together with its record, under a lock, so that
 * neither a kill in the middle nor a second control plane that starts at the same time can apply one twice or by half.
 */
export async function migrate(root: Db, kind: 'sqlite' | 'postgres', migrations: readonly Migration[], log: Log): Promise<void> {
  const db = root as unknown as Kysely<MigrationTables>
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
  for (const migration of migrations) {
    if (applied.includes(migration.name)) continue
    const ran = await locked(db, kind, async (tx) => {
      if ((await appliedNames(tx)).includes(migration.name)) return false
      await migration.up(tx as unknown as Kysely<unknown>)
      await tx.insertInto('schemaMigrations').values({ name: migration.name, appliedAt: Date.now() }).execute()
      return true
    })
    if (ran) log.info({ migration: migration.name }, 'database: migration applied')
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
    // On SQLite a transaction holds the file's write lock from its first word.
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
