import type { TransferSideRow } from '../../../platform/db/tables/transfers.ts'
import { fail } from '../../../platform/failure.ts'
import { findAnyProject } from '../../projects/index.ts'
import type { TransfersDeps } from '../deps.ts'
import { failureOf, TransferFailed } from '../failures.ts'
import type { OpenedBundle } from './open-bundle.ts'
import { stage, startHeldDeployment } from './stage.ts'

/**
 * Completes the import after the source has stopped: records changes since the first pass, writes the data, starts the project
 * and waits until it is healthy. The project's presence records the progress, so it may be restarted at any line.
 */
export async function importProject(
  row: TransferSideRow,
  bundle: OpenedBundle,
  deps: TransfersDeps,
  abort: AbortSignal,
): Promise<void> {
  const project = await findAnyProject(deps.database.db, row.projectId)
  if (project?.presence !== 'landing') {
    await stage(row, bundle, deps, abort)
    await writeVolumes(row, bundle, deps, abort)
    await deps.database.transaction(async (transaction) => {
      if (!(await deps.projects.changePresence(row.projectId, 'landing', transaction)))
        fail('conflict', { message: 'The project was deleted during the transfer' })
    })
  }
  if (row.deploymentId) await startHeldDeployment(row.deploymentId, deps, abort)
}

async function writeVolumes(row: TransferSideRow, bundle: OpenedBundle, deps: TransfersDeps, abort: AbortSignal): Promise<void> {
  const serverId = (await findAnyProject(deps.database.db, row.projectId))?.serverId ?? null
  for (const { name, index } of bundle.body.volumes) {
    const volume = await deps.data.volume(row.projectId, name, serverId)
    try {
      await deps.data.runtimeFor(volume.serverId).writeVolume(volume.id, bundle.read(index, abort), abort)
    } catch (cause) {
      abort.throwIfAborted()
      if (failureOf(cause)) throw cause
      const text = cause instanceof Error ? cause.message : 'rejected by the runtime'
      throw new TransferFailed('volume_refused', `The volume ${name} could not be written: ${text}`, { cause })
    }
  }
}
