import type { ExportBody } from '@berth/contract'
import type { ProjectRow } from '../../../platform/db/tables/projects.ts'
import type { TransferSideRow } from '../../../platform/db/tables/transfers.ts'
import { fail } from '../../../platform/failure.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import { beginOperation, endOperation, enterStopped, findAnyProject, lockProject } from '../../projects/index.ts'
import { removeFiles } from '../bundle/bundle-files.ts'
import { newExportKeys, sealKeys } from '../bundle/bundle-keys.ts'
import { nowOf, type TransfersDeps } from '../deps.ts'
import { keptDays, removeCopyKind } from '../remove-copy.ts'
import { changeSideState } from '../rows/change-side-state.ts'
import { findSide, insertSide } from '../rows/side-store.ts'
import { exportKey, exportKind } from './export-job.ts'

/** Starts packing the project, which continues to serve. A repeated request for the same transfer returns the existing export. */
export async function startExport(
  project: Pick<ProjectRow, 'id' | 'organizationId'>,
  { transfer, recipient, withData = true }: ExportBody,
  userId: string,
  deps: TransfersDeps,
): Promise<TransferSideRow> {
  const { secrets, signer } = newExportKeys()
  const now = nowOf(deps)
  return deps.database.transaction(async (transaction) => {
    await lockProject(transaction, project.id)
    const existing = await findSide(transaction.db, transfer)
    if (existing)
      return existing.projectId === project.id && existing.createdBy === userId && existing.side === 'departure'
        ? existing
        : fail('conflict')
    await refuseAbsent(project.id, transaction)
    await insertSide(transaction.db, {
      ...{ id: transfer, side: 'departure', organizationId: project.organizationId, projectId: project.id, state: 'packing' },
      ...{ withData, recipient, signer, secrets: sealKeys(transfer, secrets, deps), files: '[]', tookOver: 0, warnings: '[]' },
      ...{ createdBy: userId, createdAt: now, touchedAt: now },
    })
    await beginOperation({ projectId: project.id, environment: null, kind: 'move', subjectId: transfer }, transaction, deps)
    await transaction.enqueue(exportKind.of(project), { id: transfer }, { uniqueKey: exportKey(transfer, 'packing') })
    return (await findSide(transaction.db, transfer)) as TransferSideRow
  })
}

async function refuseAbsent(projectId: string, { db }: TransactionContext): Promise<void> {
  const row = await findAnyProject(db, projectId)
  if (row?.presence !== 'here' && row?.presence !== 'departing')
    fail('conflict', { message: 'The project was transferred to another instance. Transfer it from there.' })
}

export async function changeExport(
  row: TransferSideRow,
  to: 'ready' | 'departed' | 'aborted',
  deps: TransfersDeps,
): Promise<TransferSideRow> {
  if (to === 'ready') await requestRelease(row, deps)
  else if (to === 'departed') await finishExport(row, deps)
  else await cancelExport(row, deps)
  return (await findSide(deps.database.db, row.id)) ?? row
}

/** Sets the project's presence in the transaction that enqueues the job to stop it. */
async function requestRelease(row: TransferSideRow, deps: TransfersDeps): Promise<void> {
  if (row.state === 'releasing' || row.state === 'ready') return
  await deps.database.transaction(async (transaction) => {
    await lockProject(transaction, row.projectId)
    if (!(await changeSideState(row, 'releasing', transaction, deps)))
      fail('conflict', { message: `The project cannot be released, because its export is ${row.state}` })
    if (!(await deps.projects.changePresence(row.projectId, 'departing', transaction)))
      fail('conflict', { message: 'The project was deleted or transferred during the operation' })
    await enterStopped(row.id, transaction)
    await transaction.enqueue(exportKind.of(row), { id: row.id }, { uniqueKey: exportKey(row.id, 'releasing') })
  })
}

/** The other instance serves the project from here on. The stopped copy is kept, in case the other side loses it. */
async function finishExport(row: TransferSideRow, deps: TransfersDeps): Promise<void> {
  if (row.state === 'departed') return
  await deps.database.transaction(async (transaction) => {
    await lockProject(transaction, row.projectId)
    if (!(await changeSideState(row, 'departed', transaction, deps, { secrets: null, files: '[]' })))
      fail('conflict', { message: `The export cannot be completed, because it is ${row.state}` })
    await deps.projects.changePresence(row.projectId, 'departed', transaction)
    await endOperation(row.id, transaction)
    const runAt = new Date(nowOf(deps) + keptDays * 86_400_000)
    await transaction.enqueue(removeCopyKind.of(row), { id: row.id }, { uniqueKey: `${removeCopyKind.kind}:${row.id}`, runAt })
  })
  await removeFiles(row.id, deps)
}

/** Cancels the export: the project stays. A project that was stopped for it is started again by a job in the same transaction. */
export async function cancelExport(row: TransferSideRow, deps: TransfersDeps): Promise<void> {
  if (row.state === 'aborted') return
  await deps.database.transaction(async (transaction) => {
    await lockProject(transaction, row.projectId)
    if (!(await changeSideState(row, 'aborted', transaction, deps, { secrets: null, files: '[]' })))
      fail('conflict', { message: `The export cannot be cancelled, because it is ${row.state}` })
    await transaction.cancelJob({ uniqueKey: exportKey(row.id, 'packing') })
    await transaction.cancelJob({ uniqueKey: exportKey(row.id, 'releasing') })
    await deps.projects.changePresence(row.projectId, 'here', transaction)
    await endOperation(row.id, transaction)
  })
  await removeFiles(row.id, deps)
}
