import { type TransferPhase, transferPhases } from '@berth/contract'
import type { Insertable, Updateable } from 'kysely'
import { cloudTransferJson } from '../../../platform/db/json-columns/transfers.ts'
import type { Db } from '../../../platform/db/schema.ts'
import type { CloudTransferRow, CloudTransfersTable } from '../../../platform/db/tables/transfers.ts'

/** SQL of transfers to and from the cloud. */

const endedPhases: readonly TransferPhase[] = ['done', 'failed']

export const findTransfer = (db: Db, id: string): Promise<CloudTransferRow | undefined> =>
  db.selectFrom('cloudTransfers').selectAll().where('id', '=', id).executeTakeFirst()

const ofProject = (db: Db, organizationId: string, projectId: string) =>
  db.selectFrom('cloudTransfers').selectAll().where('organizationId', '=', organizationId).where('projectId', '=', projectId)

export const newestTransfer = (db: Db, organizationId: string, projectId: string): Promise<CloudTransferRow | undefined> =>
  ofProject(db, organizationId, projectId).orderBy('createdAt', 'desc').limit(1).executeTakeFirst()

export const runningTransfer = (db: Db, organizationId: string, projectId: string): Promise<CloudTransferRow | undefined> =>
  ofProject(db, organizationId, projectId).where('phase', 'not in', endedPhases).executeTakeFirst()

export const insertTransfer = (db: Db, row: Insertable<CloudTransfersTable>): Promise<unknown> =>
  db.insertInto('cloudTransfers').values(row).execute()

/** Updates a transfer that has not ended. */
export const updateTransfer = (db: Db, id: string, changes: Omit<Updateable<CloudTransfersTable>, 'id'>): Promise<unknown> =>
  db.updateTable('cloudTransfers').set(changes).where('id', '=', id).where('phase', 'not in', endedPhases).execute()

/** Adds the warnings that the transfer does not have yet. */
export async function addWarnings(db: Db, id: string, newWarnings: readonly string[]): Promise<void> {
  const row = await findTransfer(db, id)
  const existing = row ? cloudTransferJson.warnings(row) : []
  const warnings = [...new Set([...existing, ...newWarnings])]
  if (warnings.length > existing.length) await updateTransfer(db, id, { warnings: JSON.stringify(warnings) })
}

/** Undefined: the transfer was cancelled or has ended. */
export const enterPhase = (db: Db, id: string, phase: TransferPhase): Promise<{ id: string } | undefined> =>
  db
    .updateTable('cloudTransfers')
    .set({ phase })
    .where('id', '=', id)
    .where('phase', 'not in', [...endedPhases, 'undoing'])
    .returning('id')
    .executeTakeFirst()

/** Undefined: the cloud may already have been asked to commit. */
export const markUndoing = (
  db: Db,
  id: string,
  error: { errorCode: string; errorMessage: string },
): Promise<{ id: string } | undefined> =>
  db
    .updateTable('cloudTransfers')
    .set({ ...error, phase: 'undoing' })
    .where('id', '=', id)
    .where('phase', 'in', transferPhases.slice(0, transferPhases.indexOf('committing')))
    .returning('id')
    .executeTakeFirst()

export const hasEnded = ({ phase }: Pick<CloudTransferRow, 'phase'>): boolean => endedPhases.includes(phase)

/** Whether this instance coordinates that transfer and it has not ended. */
export async function isRunning(db: Db, id: string): Promise<boolean> {
  const transfer = await findTransfer(db, id)
  return transfer !== undefined && !hasEnded(transfer)
}
