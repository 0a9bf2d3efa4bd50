import { Failure } from '../../../platform/failure.ts'
import { findCloudProject, isUnreachable } from '../../cloud/index.ts'
import { addWarnings } from '../rows/transfer-store.ts'
import { enter, SideFailed, type TransferContext } from './prepare.ts'

/**
 * Decides the transfer. The cloud's state decides in both directions: its import becomes active, or its export is released.
 * Before that nothing on this instance may serve; after it the remaining steps are local and are completed. While the cloud is
 * unreachable the decision is unknown, so this rejects and is retried.
 */
export async function cutOver(context: TransferContext): Promise<void> {
  const { transfer, sides } = context
  await enter('committing', context)
  if (transfer.direction === 'to_cloud')
    await requestDecision(
      () => sides.target.change({ state: 'active' }),
      () => sides.target.get(),
      'active',
    )
  else
    await requestDecision(
      () => sides.source.change('departed'),
      () => sides.source.get(),
      'departed',
    )
}

/** Completes this instance's part, after the cloud's. */
export async function finishCutover(context: TransferContext): Promise<void> {
  const { transfer, sides } = context
  await enter('settling', context)
  if (transfer.direction === 'to_cloud') await sides.source.change('departed')
  else {
    await sides.target.change({ state: 'active' })
    await restoreFolder(context)
  }
}

/** Makes the local folder the project's source again; a project that got another source in the cloud keeps that. */
async function restoreFolder({ transfer: { id, projectId }, deps }: TransferContext): Promise<void> {
  const path = (await findCloudProject(deps.database.db, projectId))?.localPath
  const warning = path ? await deps.projects.restoreFolder(projectId, path) : null
  if (warning) await addWarnings(deps.database.db, id, [warning])
}

/** Requests the decision from the cloud; rejects unless the cloud's side is in the expected state afterwards. */
async function requestDecision(
  change: () => Promise<{ state: string }>,
  get: () => Promise<{ state: string }>,
  expected: string,
): Promise<void> {
  try {
    if ((await change()).state === expected) return
  } catch (error) {
    if (isUnreachable(error) || !(error instanceof Failure)) throw error
  }
  const { state } = await get()
  if (state === expected) return
  if (state === 'aborted' || state === 'failed') throw new SideFailed('conflict', 'The cloud cancelled the transfer')
  throw new Error(`The cloud has not committed the transfer: its side is in the state ${state}`)
}
