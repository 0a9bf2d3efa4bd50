import type { DepartureBody } from '@berth/contract'
import type { ProjectRow } from '../../../platform/db/tables/projects.ts'
import type { TransferEndRow } from '../../../platform/db/tables/transfers.ts'
import { fail } from '../../../platform/failure.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import { endOperation, enterStopped, findAnyProject, lockProject } from '../../projects/index.ts'
import { removeFiles } from '../bundle/bundle-files.ts'
import { newDepartureSecrets, sealSecrets } from '../bundle/bundle-keys.ts'
import { nowOf, type TransfersDeps } from '../deps.ts'
import { forgetKind, keptDays } from '../remove-copy.ts'
import { moveEnd } from '../rows/change-state.ts'
import { findEnd, insertEnd } from '../rows/side-store.ts'
import { departKey, departKind } from './export-job.ts'

/** Begins to pack the project, which continues to serve. The same transfer again returns the existing one. */
export async function startDeparture(
  project: Pick<ProjectRow, 'id' | 'organizationId'>,
  { transfer, recipient, withData = true }: DepartureBody,
  userId: string,
  deps: TransfersDeps,
): Promise<TransferEndRow> {
  const { secrets, signer } = newDepartureSecrets()
  const now = nowOf(deps)
  return deps.database.transaction(async (bound) => {
    await lockProject(bound, project.id)
    const known = await findEnd(bound.db, transfer)
    if (known)
      return known.projectId === project.id && known.createdBy === userId && known.side === 'departure' ? known : fail('conflict')
    await refuseAbsent(project.id, bound)
    await insertEnd(bound.db, {
      ...{ id: transfer, side: 'departure', organizationId: project.organizationId, projectId: project.id, state: 'packing' },
      ...{ withData, recipient, signer, secrets: sealSecrets(transfer, secrets, deps), files: '[]', tookOver: 0, warnings: '[]' },
      ...{ createdBy: userId, createdAt: now, touchedAt: now },
    })
    await deps.projects.begin(project.id, transfer, bound)
    await bound.enqueue(departKind.of(project), { id: transfer }, { uniqueKey: departKey(transfer, 'packing') })
    return (await findEnd(bound.db, transfer)) as TransferEndRow
  })
}

async function refuseAbsent(projectId: string, { db }: TransactionContext): Promise<void> {
  const row = await findAnyProject(db, projectId)
  if (row?.presence !== 'here' && row?.presence !== 'departing')
    fail('conflict', { words: 'The project was transferred to another instance' })
}

export async function changeDeparture(
  end: TransferEndRow,
  to: 'ready' | 'departed' | 'aborted',
  deps: TransfersDeps,
): Promise<TransferEndRow> {
  if (to === 'ready') await askForRelease(end, deps)
  else if (to === 'departed') await finish(end, deps)
  else await keep(end, deps)
  return (await findEnd(deps.database.db, end.id)) ?? end
}

/** Sets the project's presence in the transaction that enqueues the job to stop it. */
async function askForRelease(end: TransferEndRow, deps: TransfersDeps): Promise<void> {
  if (end.state === 'releasing' || end.state === 'ready') return
  await deps.database.transaction(async (bound) => {
    await lockProject(bound, end.projectId)
    if (!(await moveEnd(end, 'releasing', bound, deps))) fail('conflict', { words: `The export is ${end.state}` })
    if (!(await deps.projects.move(end.projectId, 'departing', bound)))
      fail('conflict', { words: 'The project was deleted or transferred during the operation' })
    await enterStopped(end.id, bound)
    await bound.enqueue(departKind.of(end), { id: end.id }, { uniqueKey: departKey(end.id, 'releasing') })
  })
}

/** The project lives on the other instance from here on. The stopped copy is kept, in case the other side loses it. */
async function finish(end: TransferEndRow, deps: TransfersDeps): Promise<void> {
  if (end.state === 'departed') return
  await deps.database.transaction(async (bound) => {
    await lockProject(bound, end.projectId)
    if (!(await moveEnd(end, 'departed', bound, deps, { secrets: null, files: '[]' })))
      fail('conflict', { words: `The export is ${end.state}` })
    await deps.projects.move(end.projectId, 'departed', bound)
    await endOperation(end.id, bound)
    const runAt = new Date(nowOf(deps) + keptDays * 86_400_000)
    await bound.enqueue(forgetKind.of(end), { id: end.id }, { uniqueKey: `${forgetKind.kind}:${end.id}`, runAt })
  })
  await removeFiles(end.id, deps)
}

/** Cancels the export: the project stays. A project that was stopped for it is started again by a job in the same transaction. */
export async function keep(end: TransferEndRow, deps: TransfersDeps): Promise<void> {
  if (end.state === 'aborted') return
  await deps.database.transaction(async (bound) => {
    await lockProject(bound, end.projectId)
    if (!(await moveEnd(end, 'aborted', bound, deps, { secrets: null, files: '[]' })))
      fail('conflict', { words: `The export is ${end.state}` })
    await bound.cancelJob({ uniqueKey: departKey(end.id, 'packing') })
    await bound.cancelJob({ uniqueKey: departKey(end.id, 'releasing') })
    await deps.projects.move(end.projectId, 'here', bound)
    await endOperation(end.id, bound)
  })
  await removeFiles(end.id, deps)
}
