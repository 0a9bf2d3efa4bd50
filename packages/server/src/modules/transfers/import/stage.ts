import { setTimeout as pause } from 'node:timers/promises'
import { settledDeployment } from '@berth/contract'
import type { DeploymentRow } from '../../../platform/db/tables/deployments.ts'
import type { TransferSideRow } from '../../../platform/db/tables/transfers.ts'
import { hasFailed, type TransfersDeps } from '../deps.ts'
import { TransferFailed } from '../failures.ts'
import { updateSide } from '../rows/side-store.ts'
import type { OpenedBundle } from './open-bundle.ts'

const pollMs = 250

/**
 * Records and builds the project, without starting it: it still runs at the source. Unchanged rows of an earlier pass are left
 * unchanged.
 */
export async function stage(row: TransferSideRow, bundle: OpenedBundle, deps: TransfersDeps, abort: AbortSignal): Promise<void> {
  if (row.staged !== bundle.digest) await recordProject(row, bundle, deps, abort)
  const { projectId, organizationId } = row
  const { history } = bundle.body
  if (history) await deps.history.write({ projectId, organizationId }, history)
  const { deployed, enabled } = bundle.body.project
  if (!deployed || !enabled) return
  const requestKey = `${row.id}:${bundle.digest}`
  await cancelOther(row, requestKey, deps)
  const { id } = await deps.deployments.deploy(row.projectId, {
    trigger: 'transfer',
    environment: 'production',
    createdBy: null,
    requestKey,
    ...(deployed.commit && bundle.body.project.source.kind === 'git' ? { commit: deployed.commit } : {}),
  })
  Object.assign(row, { deploymentId: id })
  await updateSide(deps.database.db, row.id, { deploymentId: id })
  await until(id, (row) => row.artifacts !== null, deps, abort)
}

/** Cancels the deployment of an earlier pass, which is built and held: an environment has one at a time. */
async function cancelOther({ deploymentId }: TransferSideRow, requestKey: string, deps: TransfersDeps): Promise<void> {
  const earlier = deploymentId ? await deps.deployments.find(deploymentId) : undefined
  if (!earlier || earlier.requestKey === requestKey || settledDeployment.has(earlier.status)) return
  await deps.deployments.cancel(earlier, 'The project was packed again with changes').catch(() => undefined)
}

async function recordProject(row: TransferSideRow, bundle: OpenedBundle, deps: TransfersDeps, abort: AbortSignal): Promise<void> {
  const { organizationId, projectId, createdBy: userId } = row
  const { source, project } = bundle.body
  if (project.source.kind === 'upload' && !source)
    throw new TransferFailed('bundle_refused', 'The bundle has no files of the project')
  const uploadSessionId = source && (await deps.projects.storeFiles(bundle.read(source, abort), { organizationId, userId }))
  const { warnings } = await deps.projects.recordImport({ projectId, organizationId, bundle: project, uploadSessionId })
  const changes = { staged: bundle.digest, warnings: JSON.stringify(warnings) }
  Object.assign(row, changes)
  await updateSide(deps.database.db, row.id, changes)
}

/** Starts a held deployment and waits until it is live; no route leads to it. */
export async function startHeldDeployment(deploymentId: string, deps: TransfersDeps, abort: AbortSignal): Promise<void> {
  // Requested repeatedly, because the job that built it may not have ended yet and would ignore the request.
  await until(
    deploymentId,
    (row) => row.status === 'live',
    deps,
    abort,
    () => deps.deployments.resume(deploymentId),
  )
}

async function until(
  deploymentId: string,
  isReached: (row: DeploymentRow) => boolean,
  deps: TransfersDeps,
  abort: AbortSignal,
  resume?: () => Promise<unknown>,
): Promise<void> {
  for (;;) {
    const row = await deps.deployments.find(deploymentId)
    if (!row || hasFailed(row.status))
      throw new TransferFailed(
        'deploy_failed',
        `The project could not be ${resume ? 'started' : 'built'} at the target: ${row?.errorMessage ?? 'its deployment was deleted'}`,
      )
    if (row.status === 'superseded' || isReached(row)) return
    if (row.status === 'building') await resume?.()
    await pause(pollMs, undefined, { signal: abort })
  }
}
