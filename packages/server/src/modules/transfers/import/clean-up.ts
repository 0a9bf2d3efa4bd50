import type { TransferSideRow } from '../../../platform/db/tables/transfers.ts'
import { findAnyProject } from '../../projects/index.ts'
import { removeFiles } from '../bundle/bundle-files.ts'
import type { TransfersDeps } from '../deps.ts'
import { findSide } from '../rows/side-store.ts'
import { forgetCount } from './import-quota.ts'

/** Removes everything of a cancelled import. A copy that was kept here before is kept again. */
export async function cleanUp(row: TransferSideRow, deps: TransfersDeps): Promise<void> {
  const current = (await findSide(deps.database.db, row.id)) ?? row
  const deployment = current.deploymentId ? await deps.deployments.find(current.deploymentId) : undefined
  if (deployment) await deps.deployments.cancel(deployment, 'The transfer was cancelled').catch(() => undefined)
  await deps.database.transaction(async (transaction) => {
    const project = await findAnyProject(transaction.db, current.projectId)
    const isThisImport =
      project?.organizationId === current.organizationId && (project.presence === 'arriving' || project.presence === 'landing')
    if (!isThisImport) return
    if (current.tookOver) await deps.projects.changePresence(current.projectId, 'departed', transaction)
    else await deps.projects.discardImport(current.projectId, transaction)
  })
  await removeFiles(row.id, deps)
  forgetCount(row.id)
}
