import type { ArrivalBody, ArrivalChange } from '@berth/contract'
import type { TransferEndRow } from '../../../platform/db/tables/transfers.ts'
import { fail, refuse } from '../../../platform/failure.ts'
import { findAnyProject, lockProject } from '../../projects/index.ts'
import { removeFiles } from '../bundle/bundle-files.ts'
import { newArrivalSecrets, sealSecrets } from '../bundle/bundle-keys.ts'
import { nowOf, type TransfersDeps } from '../deps.ts'
import { howToCallOff, refuseOther } from '../other-transfer.ts'
import { moveEnd } from '../rows/change-state.ts'
import { deleteDepartures, deleteEnd, findEnd, insertEnd, openArrivals, openOfProject } from '../rows/side-store.ts'
import { clearAway } from './clean-up.ts'
import { arriveKey, arriveKind } from './import-kind.ts'
import { forgetCount } from './import-quota.ts'

const maxOpen = 5

/** Opens an import; the same request again returns the existing one. */
export async function openArrival(
  id: string,
  { project, identity }: ArrivalBody,
  caller: { organizationId: string; userId: string },
  deps: TransfersDeps,
): Promise<TransferEndRow> {
  const { organizationId, userId } = caller
  const { secrets, recipient } = await newArrivalSecrets(identity).catch(() => refuse('identity', 'is not an age identity'))
  const now = nowOf(deps)
  return deps.database.transaction(async (bound) => {
    await bound.lock(`arrivals:${organizationId}`)
    const known = await findEnd(bound.db, id)
    // A bundle file may be imported again after its project was deleted or an import of it failed.
    if (known && (known.state === 'aborted' || known.state === 'active')) await deleteEnd(bound.db, id)
    else if (known) return isSame(known, project, caller) ? known : fail('conflict')
    const there = await findAnyProject(bound.db, project)
    const isKept = there?.organizationId === organizationId && there.presence === 'departed'
    if (there && !isKept) fail('already_there')
    refuseOther(await openOfProject(bound.db, project), organizationId)
    if ((await openArrivals(bound.db, organizationId)).length >= maxOpen)
      fail('work_in_progress', {
        words: `An organisation can run at most ${maxOpen} imports at the same time. Wait for one of them, or cancel one (${howToCallOff}).`,
      })
    await insertEnd(bound.db, {
      ...{ id, side: 'arrival', organizationId, projectId: project, state: 'open', withData: 1, recipient, signer: '' },
      ...{ secrets: sealSecrets(id, secrets, deps), files: '[]', tookOver: isKept, warnings: '[]' },
      ...{ createdBy: userId, createdAt: now, touchedAt: now },
    })
    return (await findEnd(bound.db, id)) as TransferEndRow
  })
}

const isSame = (end: TransferEndRow, project: string, caller: { organizationId: string; userId: string }) =>
  end.side === 'arrival' &&
  end.projectId === project &&
  end.organizationId === caller.organizationId &&
  end.createdBy === caller.userId

export async function changeArrival(
  end: TransferEndRow,
  { state: to, signer }: ArrivalChange,
  deps: TransfersDeps,
): Promise<TransferEndRow> {
  if (to === 'staged') await ask(end, 'staging', to, deps, { signer: signer ?? refuse('signer', 'is required') })
  else if (to === 'landed') await ask(end, 'landing', to, deps)
  else if (to === 'active') await activate(end, deps)
  else await abortArrival(end, deps)
  return (await findEnd(deps.database.db, end.id)) ?? end
}

async function ask(
  end: TransferEndRow,
  doing: 'staging' | 'landing',
  done: TransferEndRow['state'],
  deps: TransfersDeps,
  changes: { signer?: string } = {},
): Promise<void> {
  if (end.state === doing || end.state === done) return
  await deps.database.transaction(async (bound) => {
    if (!(await moveEnd(end, doing, bound, deps, changes))) fail('conflict', { words: `The import is ${end.state}` })
    await bound.enqueue(arriveKind.of(end), { id: end.id }, { uniqueKey: arriveKey(end.id, doing) })
  })
}

/** Makes the project live on this instance with this commit; its routes follow. */
async function activate(end: TransferEndRow, deps: TransfersDeps): Promise<void> {
  if (end.state !== 'active')
    await deps.database.transaction(async (bound) => {
      await lockProject(bound, end.projectId)
      if (!(await moveEnd(end, 'active', bound, deps, { secrets: null })))
        fail('conflict', { words: `The import is ${end.state}` })
      if (!(await deps.projects.move(end.projectId, 'here', bound)))
        fail('conflict', { words: 'The project was deleted during the transfer' })
      await deleteDepartures(bound.db, end.projectId)
    })
  await deps
    .syncRoutes(end.projectId)
    .catch((error: unknown) => deps.log.warn({ err: error }, 'transfers: routes of an imported project not active yet'))
  await removeFiles(end.id, deps)
  forgetCount(end.id)
}

/** Cancels the import and removes everything of it. A copy that was kept here before is kept again. */
export async function abortArrival(end: TransferEndRow, deps: TransfersDeps): Promise<void> {
  if (end.state !== 'aborted') {
    const aborted = await deps.database.transaction(async (bound) => {
      await bound.cancelJob({ uniqueKey: arriveKey(end.id, 'staging') })
      await bound.cancelJob({ uniqueKey: arriveKey(end.id, 'landing') })
      return moveEnd(end, 'aborted', bound, deps, { secrets: null })
    })
    if (!aborted) fail('conflict', { words: `The import is ${end.state}` })
  }
  await clearAway(end, deps)
}
