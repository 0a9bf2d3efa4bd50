import type { TransferEndRow } from '../../../platform/db/tables/transfers.ts'
import { findAnyProject } from '../../projects/index.ts'
import { removeFiles } from '../bundle/bundle-files.ts'
import type { TransfersDeps } from '../deps.ts'
import { findEnd } from '../rows/side-store.ts'
import { forgetCount } from './import-quota.ts'

/** Removes everything of a cancelled import. A copy that was kept here before is kept again. */
export async function clearAway(end: TransferEndRow, deps: TransfersDeps): Promise<void> {
  const current = (await findEnd(deps.database.db, end.id)) ?? end
  const deployment = current.deploymentId ? await deps.deployments.find(current.deploymentId) : undefined
  if (deployment) await deps.deployments.cancel(deployment, 'The transfer was cancelled').catch(() => undefined)
  await deps.database.transaction(async (bound) => {
    const project = await findAnyProject(bound.db, current.projectId)
    const isOurs =
      project?.organizationId === current.organizationId && (project.presence === 'arriving' || project.presence === 'landing')
    if (!isOurs) return
    if (current.tookOver) await deps.projects.move(current.projectId, 'departed', bound)
    else await deps.projects.discard(current.projectId, bound)
  })
  await removeFiles(end.id, deps)
  forgetCount(end.id)
}
