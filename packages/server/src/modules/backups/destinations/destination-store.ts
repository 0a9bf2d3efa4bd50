import { restoreStatuses, runStatuses, terminalRestore, terminalRun } from '@berth/contract'
import type { Insertable, Updateable } from 'kysely'
import { page } from '../../../platform/db/pages.ts'
import type { Db } from '../../../platform/db/schema.ts'
import type { BackupDestinationsTable, DestinationRow } from '../../../platform/db/tables/backups.ts'

/** SQL of destinations. A query by id also names the organisation. */

const destinationsOf = (db: Db, organizationId: string) =>
  db.selectFrom('backupDestinations').selectAll().where('organizationId', '=', organizationId)

export const listDestinations = (db: Db, organizationId: string, { limit = 100, cursor }: { limit?: number; cursor?: string }) =>
  page(destinationsOf(db, organizationId), { limit, cursor, by: ['createdAt', 'id'], direction: 'asc' })

export const allDestinations = (db: Db, organizationId: string): Promise<DestinationRow[]> =>
  destinationsOf(db, organizationId).orderBy('createdAt').orderBy('id').execute()

export const findDestinationOf = (db: Db, organizationId: string, id: string): Promise<DestinationRow | undefined> =>
  destinationsOf(db, organizationId).where('id', '=', id).executeTakeFirst()

/** Finds a destination by id alone, for jobs whose rows have been authorized already. */
export const findDestination = (db: Db, id: string): Promise<DestinationRow | undefined> =>
  db.selectFrom('backupDestinations').selectAll().where('id', '=', id).executeTakeFirst()

export async function countDestinations(db: Db, organizationId: string): Promise<number> {
  const { count } = await db
    .selectFrom('backupDestinations')
    .select(({ fn }) => fn.countAll<number | string>().as('count'))
    .where('organizationId', '=', organizationId)
    .executeTakeFirstOrThrow()
  return Number(count)
}

export const insertDestination = (db: Db, row: Insertable<BackupDestinationsTable>): Promise<DestinationRow> =>
  db.insertInto('backupDestinations').values(row).returningAll().executeTakeFirstOrThrow()

export const updateDestination = (db: Db, id: string, changes: Updateable<BackupDestinationsTable>): Promise<DestinationRow> =>
  db.updateTable('backupDestinations').set(changes).where('id', '=', id).returningAll().executeTakeFirstOrThrow()

export const removeDestination = (db: Db, id: string) => db.deleteFrom('backupDestinations').where('id', '=', id).execute()

export async function isUsed(db: Db, id: string): Promise<boolean> {
  const policy = await db.selectFrom('backupPolicies').select('id').where('destinationId', '=', id).limit(1).executeTakeFirst()
  if (policy !== undefined) return true
  const ofInstance = await db.selectFrom('instanceBackupPolicies').select('id').where('destinationId', '=', id).executeTakeFirst()
  return ofInstance !== undefined
}

/** Number of restorable runs and backups of the instance at the destination. */
export async function countRestorable(db: Db, id: string): Promise<number> {
  const { count } = await db
    .selectFrom('backupRuns')
    .select(({ fn }) => fn.countAll<number | string>().as('count'))
    .where('destinationId', '=', id)
    .where('status', '=', 'succeeded')
    .where('prunedAt', 'is', null)
    .executeTakeFirstOrThrow()
  const ofInstance = await db
    .selectFrom('instanceBackups')
    .select(({ fn }) => fn.countAll<number | string>().as('count'))
    .where('destinationId', '=', id)
    .where('status', '=', 'succeeded')
    .executeTakeFirstOrThrow()
  return Number(count) + Number(ofInstance.count)
}

const unfinishedRuns = runStatuses.filter((status) => !terminalRun.has(status))
const unfinishedRestores = restoreStatuses.filter((status) => !terminalRestore.has(status))

export async function hasUnfinishedWork(db: Db, id: string): Promise<boolean> {
  const run = await db
    .selectFrom('backupRuns')
    .select('id')
    .where('destinationId', '=', id)
    .where('status', 'in', unfinishedRuns)
    .limit(1)
    .executeTakeFirst()
  const restore = await db
    .selectFrom('backupRestores')
    .innerJoin('backupRuns', 'backupRuns.id', 'backupRestores.runId')
    .select('backupRestores.id')
    .where('backupRuns.destinationId', '=', id)
    .where('backupRestores.status', 'in', unfinishedRestores)
    .limit(1)
    .executeTakeFirst()
  const ofInstance = await db
    .selectFrom('instanceBackups')
    .select('id')
    .where('destinationId', '=', id)
    .where('status', 'in', ['queued', 'running'])
    .executeTakeFirst()
  return run !== undefined || restore !== undefined || ofInstance !== undefined
}
