import type { DeploymentRow } from '../../../platform/db/tables/deployments.ts'
import { fail } from '../../../platform/failure.ts'
import { enterDiscarding, findAnyProject } from '../../projects/index.ts'
import { deploymentTopic } from '../deployment-log.ts'
import { type DeploymentsDeps, nowOf } from '../deps.ts'
import { transitionDeployment } from '../store.ts'
import { deployKind, groupOf, jobKey } from './request-deployment.ts'

/**
 * Cancels a deployment in any state before `live`; other deployments are not affected. The row is cancelled at once, so a late
 * success cannot overwrite it; the job, aborted or run again, cleans up.
 */
export async function cancelDeployment(
  deployment: DeploymentRow,
  deps: DeploymentsDeps,
  message = 'The deployment was cancelled',
): Promise<DeploymentRow> {
  const cancelled = await deps.database.transaction(async (transaction) => {
    const row = await transitionDeployment(transaction.db, deployment.id, 'cancelled', {
      errorCode: 'cancelled',
      errorMessage: message,
      finishedAt: nowOf(deps),
    })
    if (!row) return undefined
    await enterDiscarding(row.id, transaction)
    await transaction.cancelJob({ uniqueKey: jobKey(row.id) })
    await transaction.enqueue(
      deployKind.of(row),
      { deploymentId: row.id },
      { uniqueKey: `${jobKey(row.id)}:discard`, groupKey: groupOf(row) },
    )
    transaction.signal(deploymentTopic(row.id), { changed: true })
    await deps.onStatusChange?.(transaction, row)
    const project = await findAnyProject(transaction.db, row.projectId)
    if (project)
      await transaction.announce('deploy.cancelled', {
        organizationId: project.organizationId,
        projectId: project.id,
        subject: `Deployment ${row.number} of ${project.name} was cancelled`,
        text: `Deployment ${row.number} of ${project.name} (${row.environment}) was cancelled.`,
        data: { deploymentId: row.id, environment: row.environment },
      })
    return row
  })
  return cancelled ?? fail('conflict', { message: `The deployment is ${deployment.status} and cannot be cancelled` })
}
