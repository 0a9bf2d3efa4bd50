import {
  type RestoreStatus,
  type RestoresQuery,
  restoreStatuses,
  restoreTransitions,
  sourcesOf,
  terminalRestore,
} from '@berth/contract'
import type { Insertable, Updateable } from 'kysely'
import { Type } from 'typebox'
import { restoreJson } from '../../../platform/db/json-columns/backups.ts'
import { jsonColumn } from '../../../platform/db/json-columns/json-column.ts'
import { page } from '../../../platform/db/pages.ts'
import type { Db } from '../../../platform/db/schema.ts'
import type { BackupRestoresTable, RestoreRow } from '../../../platform/db/tables/backups.ts'

/** SQL of restores. */

export const unfinishedRestores: readonly RestoreStatus[] = restoreStatuses.filter((status) => !terminalRestore.has(status))

export const findRestoreOf = (db: Db, organizationId: string, id: string): Promise<RestoreRow | undefined> =>
  db.selectFrom('backupRestores').selectAll().where('id', '=', id).where('organizationId', '=', organizationId).executeTakeFirst()

export const findRestore = (db: Db, id: string): Promise<RestoreRow | undefined> =>
  db.selectFrom('backupRestores').selectAll().where('id', '=', id).executeTakeFirst()

export const insertRestore = (db: Db, row: Insertable<BackupRestoresTable>): Promise<RestoreRow> =>
  db.insertInto('backupRestores').values(row).returningAll().executeTakeFirstOrThrow()

/**
 * Changes a restore's status atomically; no other query does. Undefined when the transition is not allowed: terminal is final.
 */
export const moveRestoreTo = (
  db: Db,
  id: string,
  to: RestoreStatus,
  changes: Updateable<BackupRestoresTable> = {},
): Promise<RestoreRow | undefined> =>
  db
    .updateTable('backupRestores')
    .set({ ...changes, status: to })
    .where('id', '=', id)
    .where('status', 'in', sourcesOf(restoreTransitions, to))
    .returningAll()
    .executeTakeFirst()

/** Updates columns other than the status. */
export const updateRestore = (db: Db, id: string, changes: Omit<Updateable<BackupRestoresTable>, 'status' | 'id'>) =>
  db.updateTable('backupRestores').set(changes).where('id', '=', id).execute()

/** Records the run that saves the current data; false when the restore has been ended. */
export async function recordSafetyRun(db: Db, id: string, preRestoreRunId: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('backupRestores')
    .set({ preRestoreRunId })
    .where('id', '=', id)
    .where('status', '=', 'applying')
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

export const listUnfinished = (db: Db, projectId: string): Promise<RestoreRow[]> =>
  db
    .selectFrom('backupRestores')
    .selectAll()
    .where('projectId', '=', projectId)
    .where('status', 'in', unfinishedRestores)
    .execute()

/** Restores that took a safety run, newest first. */
export const listWithSafetyRun = (db: Db, projectId: string) =>
  db
    .selectFrom('backupRestores')
    .select(['preRestoreRunId', 'status', 'dataState', 'finishedAt'])
    .where('projectId', '=', projectId)
    .where('preRestoreRunId', 'is not', null)
    .orderBy('startedAt', 'desc')
    .orderBy('id', 'desc')
    .execute()

/** Restores of a project, also of a deleted one, newest first. */
export function listRestores(
  db: Db,
  { organizationId, projectId }: Pick<RestoreRow, 'organizationId' | 'projectId'>,
  { limit = 100, cursor, status }: RestoresQuery,
) {
  const all = db.selectFrom('backupRestores').selectAll().where('projectId', '=', projectId)
  const ownRestores = all.where('organizationId', '=', organizationId)
  const query = status === undefined ? ownRestores : ownRestores.where('status', '=', status)
  return page(query, { limit, cursor, by: ['createdAt', 'id'], direction: 'desc' })
}

/** The staged restores of a run for one target. */
export const listStaged = (db: Db, { runId, target }: Pick<RestoreRow, 'runId' | 'target'>): Promise<RestoreRow[]> =>
  db
    .selectFrom('backupRestores')
    .selectAll()
    .where('runId', '=', runId)
    .where('target', '=', target)
    .where('status', '=', 'staged')
    .execute()

export type VerificationChanges = Pick<
  Updateable<BackupRestoresTable>,
  'verification' | 'verificationSince' | 'report' | 'verifiedBytes'
>

/** Adds the warnings that the report does not have yet. */
export async function addWarnings(db: Db, id: string, added: readonly string[]): Promise<void> {
  const restore = await findRestore(db, id)
  const report = restore && restoreJson.report(restore)
  if (!report) return
  const warnings = [...new Set([...report.warnings, ...added])]
  await updateRestore(db, id, { report: JSON.stringify({ ...report, warnings }) })
}

/** Records the result of verifying the archive; undefined when the restore has ended. */
export const recordVerification = (db: Db, id: string, changes: VerificationChanges): Promise<RestoreRow | undefined> =>
  db
    .updateTable('backupRestores')
    .set(changes)
    .where('id', '=', id)
    .where('status', 'in', unfinishedRestores)
    .returningAll()
    .executeTakeFirst()

/** Progress of applying a restore, for the process that resumes it after a crash. */
export interface ProgressNote {
  /** Whether the project was serving before the restore. */
  wasOnline?: boolean
  /** Set before anything is stopped or replaced. */
  touched?: true
  /** The restore failed before any volume was replaced or any database loaded. Unknown after a crash. */
  isUnwritten?: boolean
  /** The restore failed, and the previous data is being put back. */
  failure?: { code: string; message: string }
}

const progressNote = jsonColumn(
  'backupRestores',
  'progressNote',
  Type.Unsafe<ProgressNote>(
    Type.Object({ failure: Type.Optional(Type.Object({ code: Type.String(), message: Type.String() })) }),
  ),
)

export const progressOf = (restore: RestoreRow): ProgressNote => progressNote(restore) ?? {}

/** Records `partly_written` before the first byte is written; the code that ends the restore records the final state. */
export const recordProgress = (db: Db, id: string, note: ProgressNote) =>
  updateRestore(db, id, { progressNote: JSON.stringify(note), ...(note.touched ? { dataState: 'partly_written' } : {}) })
