import { digestIn } from '../../../drivers/registry/image-name.ts'
import type { Artifact, Runtime } from '../../../drivers/runtime/runtime.ts'
import type { DeploymentRow } from '../../../platform/db/tables/deployments.ts'
import { job, sharedKind } from '../../../platform/jobs/declare.ts'
import { allEnvironments, findAnyProject } from '../../projects/index.ts'
import type { DeploymentsDeps } from '../deps.ts'
import { artifactsOf } from '../plan/deployed.ts'
import { inProgressStatuses, isArtifactUsed, listInProgress, listLocations, listRestartable, updateDeployment } from '../store.ts'
import { releaseUploads } from './upload-release.ts'

export const cleanUpKind = sharedKind<{ projectId: string }>('deployments.clean-up')

/** Removes old artifacts of a project. Artifacts of live deployments and of the rollback window are kept. */
export const cleanUpJob = (deps: DeploymentsDeps) =>
  job<{ projectId: string }, unknown>(cleanUpKind, {
    deadlineMs: 15 * 60_000,
    run: ({ projectId }, _deps, abort) => cleanUpProject(projectId, deps, abort),
  })

/** Cleans up one project on every server where it was built. */
export async function cleanUpProject(projectId: string, deps: DeploymentsDeps, abort: AbortSignal): Promise<void> {
  const { db } = deps.database
  const project = await findAnyProject(db, projectId)
  if (!project) return
  const keptReferences = new Set<string>()
  const removable: DeploymentRow[] = []
  const keptDeploymentIds: string[] = []
  for (const { slug } of await allEnvironments(db, projectId)) {
    const rows = await listRestartable(db, projectId, slug)
    const { keep, remove } = splitByWindow(rows, project.rollbackWindow)
    for (const row of keep) for (const { reference } of Object.values(artifactsOf(row))) keptReferences.add(reference)
    removable.push(...remove)
    keptDeploymentIds.push(...keep.map(({ id }) => id))
  }
  for (const row of await listInProgress(db, projectId))
    if (row.artifacts) for (const { reference } of Object.values(artifactsOf(row))) keptReferences.add(reference)
  await removeArtifacts(removable, keptReferences, deps, abort)
  await releaseUploads({ projectId }, keptDeploymentIds, deps)
  for (const serverId of await listLocations(db, projectId))
    await removeUnreferenced(projectId, keptReferences, { database: deps.database, runtime: deps.runtimes.for(serverId) }, abort)
}

/**
 * Splits `rows` (newest first) into kept and removable. The live deployment is always kept and does not count toward the window.
 */
export function splitByWindow(
  rows: readonly DeploymentRow[],
  window: number,
): { keep: DeploymentRow[]; remove: DeploymentRow[] } {
  const old = rows.filter(({ status }) => status !== 'live')
  return { keep: [...rows.filter(({ status }) => status === 'live'), ...old.slice(0, window)], remove: old.slice(window) }
}

async function removeArtifacts(
  rows: readonly DeploymentRow[],
  keptReferences: ReadonlySet<string>,
  deps: DeploymentsDeps,
  abort: AbortSignal,
) {
  for (const row of rows) {
    const runtime = deps.runtimes.for(row.serverId)
    for (const artifact of Object.values(artifactsOf(row)))
      if (!keptReferences.has(artifact.reference) && !isNamedImage(artifact) && !(await isSharedImage(artifact, [row.id], deps)))
        await runtime.removeArtifact(artifact, abort)
    await updateDeployment(deps.database.db, row.id, { artifacts: null })
  }
}

/**
 * Whether the artifact is an image that a service uses by name: the runtime records it with the size 0. Other containers of the
 * machine may use it, so it is kept.
 */
const isNamedImage = ({ sizeBytes }: Artifact): boolean => sizeBytes === 0

/** True while another deployment, of any project, uses this pulled image: all projects share one local copy of it. */
export const isSharedImage = async (
  { reference }: Pick<Artifact, 'reference'>,
  exceptDeploymentIds: readonly string[],
  { database }: Pick<DeploymentsDeps, 'database'>,
): Promise<boolean> => digestIn(reference) !== null && isArtifactUsed(database.db, reference, exceptDeploymentIds)

/**
 * Removes artifacts that no deployment can start from. The deployment of each artifact is read just before, because it may have
 * progressed meanwhile.
 */
async function removeUnreferenced(
  projectId: string,
  keptReferences: ReadonlySet<string>,
  { database, runtime }: Pick<DeploymentsDeps, 'database'> & { runtime: Runtime },
  abort: AbortSignal,
) {
  for (const artifact of await runtime.listArtifacts()) {
    if (artifact.projectId !== projectId || keptReferences.has(artifact.reference)) continue
    const deployment = await database.db
      .selectFrom('deployments')
      .select(['id', 'status', 'artifacts'])
      .where('id', '=', artifact.deploymentId)
      .executeTakeFirst()
    if (!isReferenced(artifact, deployment)) await runtime.removeArtifact(artifact, abort)
  }
}

/** A deployment in progress keeps every artifact labelled with its id; a finished one keeps the artifacts in its row. */
export function isReferenced(
  { reference }: Pick<Artifact, 'reference'>,
  deployment: Pick<DeploymentRow, 'id' | 'status' | 'artifacts'> | undefined,
): boolean {
  if (!deployment) return false
  if (inProgressStatuses.includes(deployment.status)) return true
  if (deployment.artifacts === null || deployment.status === 'failed' || deployment.status === 'cancelled') return false
  return Object.values(artifactsOf(deployment)).some((artifact) => artifact.reference === reference)
}
