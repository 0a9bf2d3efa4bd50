import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { ArtifactMissing } from '../../../drivers/runtime/runtime-errors.ts'
import type { DeploymentRow } from '../../../platform/db/tables/deployments.ts'
import { findAnyProject } from '../../projects/index.ts'
import { DeployFailed } from '../deploy-failed.ts'
import { type DeploymentLog, openDeploymentLog } from '../deployment-log.ts'
import type { DeploymentsDeps } from '../deps.ts'
import { type DeployedSource, deployedSource } from '../plan/deployed.ts'
import { envOf } from '../plan/snapshot.ts'
import { build } from './build.ts'
import { fetchSource } from './fetch-source.ts'

interface RebuildContext {
  deps: DeploymentsDeps
  abort: AbortSignal
  /** Log of a deployment in progress; without it, the deployment's log is opened again. */
  log?: DeploymentLog
}

/**
 * Runs `start`. If the artifact no longer exists, rebuilds it from the deployment's source and runs `start` again. The plan stays;
 * the row that `start` gets then has the new artifacts.
 */
export async function startOrRebuild<T>(
  deployment: DeploymentRow,
  start: (deployment: DeploymentRow) => Promise<T>,
  context: RebuildContext,
): Promise<T> {
  try {
    return await start(deployment)
  } catch (error) {
    if (!(error instanceof DeployFailed) || !(error.cause instanceof ArtifactMissing)) throw error
    return await start(await rebuild(deployment, error.message, context))
  }
}

async function rebuild(
  deployment: DeploymentRow,
  reason: string,
  { deps, abort, log: openLog }: RebuildContext,
): Promise<DeploymentRow> {
  const project = await findAnyProject(deps.database.db, deployment.projectId)
  if (!project) throw new DeployFailed('start_failed', reason)
  const folder = join(deps.workFolder, deployment.id)
  const log = openLog ?? (await openDeploymentLog(deployment, deps))
  deps.log.warn({ deploymentId: deployment.id, reason }, 'deployments: artifact missing, rebuilding it from source')
  log.line(`${reason}: building it again from source`)
  const env = await envOf(deployment, deps)
  const pinned = { ...deployment, source: JSON.stringify(pinnedSource(deployment)) }
  const deploying = { deployment: pinned, project, folder, env, log, abort, deps, shared: {} }
  try {
    await mkdir(folder, { recursive: true })
    const fetched = (await fetchSource.run(deploying)) ?? pinned
    const { artifacts, sizeBytes } = (await build.run({ ...deploying, deployment: fetched })) ?? fetched
    return { ...deployment, artifacts, sizeBytes }
  } catch (error) {
    abort.throwIfAborted()
    const text = error instanceof DeployFailed ? error.message : 'the rebuild failed'
    log.line(text)
    if (!(error instanceof DeployFailed)) throw error
    throw new DeployFailed(error.code, `${reason}, and could not be built again: ${text}`, error.logTail)
  } finally {
    await rm(folder, { recursive: true, force: true })
    await log.flush()
  }
}

/** The source with the deployed commit: the branch may have newer commits. */
function pinnedSource(deployment: DeploymentRow): DeployedSource {
  const source = deployedSource(deployment)
  const { commitSha } = deployment
  return source.kind === 'git' && commitSha !== null ? { ...source, commit: commitSha } : source
}
