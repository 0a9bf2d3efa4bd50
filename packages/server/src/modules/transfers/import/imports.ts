import type { ImportBody, ImportChange } from '@berth/contract'
import type { TransferSideRow } from '../../../platform/db/tables/transfers.ts'
import { fail, refuse } from '../../../platform/failure.ts'
import { findAnyProject, lockProject } from '../../projects/index.ts'
import { removeFiles } from '../bundle/bundle-files.ts'
import { newImportKeys, sealKeys } from '../bundle/bundle-keys.ts'
import { nowOf, type TransfersDeps } from '../deps.ts'
import { changeSideState } from '../rows/change-side-state.ts'
import { howToCancel, refuseOtherTransfer } from '../rows/other-transfer.ts'
import { deleteExports, deleteSide, findSide, insertSide, openImports, openSidesOfProject } from '../rows/side-store.ts'
import { cleanUp } from './clean-up.ts'
import { importKey, importKind } from './import-job.ts'
import { forgetCount } from './import-quota.ts'

const maxOpen = 5

/** Opens an import. A repeated request returns the existing one. */
export async function openImport(
  id: string,
  { project, identity }: ImportBody,
  caller: { organizationId: string; userId: string },
  deps: TransfersDeps,
): Promise<TransferSideRow> {
  const { organizationId, userId } = caller
  const { secrets, recipient } = await newImportKeys(identity).catch(() => refuse('identity', 'is not an age identity'))
  const now = nowOf(deps)
  return deps.database.transaction(async (transaction) => {
    await transaction.lock(`arrivals:${organizationId}`)
    const existing = await findSide(transaction.db, id)
    // A bundle file may be imported again after its project was deleted or an import of it failed.
    if (existing && (existing.state === 'aborted' || existing.state === 'active')) await deleteSide(transaction.db, id)
    else if (existing) return isSame(existing, project, caller) ? existing : fail('conflict')
    const existingProject = await findAnyProject(transaction.db, project)
    const isKeptCopy = existingProject?.organizationId === organizationId && existingProject.presence === 'departed'
    if (existingProject && !isKeptCopy) fail('already_there')
    refuseOtherTransfer(await openSidesOfProject(transaction.db, project), organizationId)
    if ((await openImports(transaction.db, organizationId)).length >= maxOpen)
      fail('work_in_progress', {
        message: `An organisation can run at most ${maxOpen} imports at the same time. Wait for one of them, or cancel one (${howToCancel}).`,
      })
    await insertSide(transaction.db, {
      ...{ id, side: 'arrival', organizationId, projectId: project, state: 'open', withData: 1, recipient, signer: '' },
      ...{ secrets: sealKeys(id, secrets, deps), files: '[]', tookOver: isKeptCopy, warnings: '[]' },
      ...{ createdBy: userId, createdAt: now, touchedAt: now },
    })
    return (await findSide(transaction.db, id)) as TransferSideRow
  })
}

const isSame = (row: TransferSideRow, project: string, caller: { organizationId: string; userId: string }) =>
  row.side === 'arrival' &&
  row.projectId === project &&
  row.organizationId === caller.organizationId &&
  row.createdBy === caller.userId

export async function changeImport(
  row: TransferSideRow,
  { state: to, signer }: ImportChange,
  deps: TransfersDeps,
): Promise<TransferSideRow> {
  if (to === 'staged') await requestStep(row, 'staging', to, deps, { signer: signer ?? refuse('signer', 'is required') })
  else if (to === 'landed') await requestStep(row, 'landing', to, deps)
  else if (to === 'active') await activate(row, deps)
  else await cancelImport(row, deps)
  return (await findSide(deps.database.db, row.id)) ?? row
}

const refusals = { staging: 'The import cannot be prepared', landing: 'The import cannot be completed' }

async function requestStep(
  row: TransferSideRow,
  doing: 'staging' | 'landing',
  done: TransferSideRow['state'],
  deps: TransfersDeps,
  changes: { signer?: string } = {},
): Promise<void> {
  if (row.state === doing || row.state === done) return
  await deps.database.transaction(async (transaction) => {
    if (!(await changeSideState(row, doing, transaction, deps, changes)))
      fail('conflict', { message: `${refusals[doing]}, because its state is ${row.state}` })
    await transaction.enqueue(importKind.of(row), { id: row.id }, { uniqueKey: importKey(row.id, doing) })
  })
}

/** Makes the project live on this instance in one transaction, then sends its routes to the edge. */
async function activate(row: TransferSideRow, deps: TransfersDeps): Promise<void> {
  if (row.state !== 'active')
    await deps.database.transaction(async (transaction) => {
      await lockProject(transaction, row.projectId)
      if (!(await changeSideState(row, 'active', transaction, deps, { secrets: null })))
        fail('conflict', { message: `The imported project cannot go live, because the state of the import is ${row.state}` })
      if (!(await deps.projects.changePresence(row.projectId, 'here', transaction)))
        fail('conflict', { message: 'The project was deleted during the transfer' })
      await deleteExports(transaction.db, row.projectId)
    })
  await deps
    .syncRoutes(row.projectId)
    .catch((error: unknown) => deps.log.warn({ err: error }, 'transfers: routes of an imported project not active yet'))
  await removeFiles(row.id, deps)
  forgetCount(row.id)
}

/** Cancels the import and removes everything of it. A copy that was kept here before is kept again. */
export async function cancelImport(row: TransferSideRow, deps: TransfersDeps): Promise<void> {
  if (row.state !== 'aborted') {
    const aborted = await deps.database.transaction(async (transaction) => {
      await transaction.cancelJob({ uniqueKey: importKey(row.id, 'staging') })
      await transaction.cancelJob({ uniqueKey: importKey(row.id, 'landing') })
      return changeSideState(row, 'aborted', transaction, deps, { secrets: null })
    })
    if (!aborted) fail('conflict', { message: `The import cannot be cancelled, because it is ${row.state}` })
  }
  await cleanUp(row, deps)
}
