import { digestIn } from '../../../drivers/runtime/image-name.ts'
import type { Artifact, Runtime } from '../../../drivers/runtime/runtime.ts'
import type { DeploymentRow } from '../../../platform/db/tables/deployments.ts'
import { job, sharedKind } from '../../../platform/jobs/declare.ts'
import { allEnvironments, findAnyProject } from '../../projects/index.ts'
import type { DeploymentsDeps } from '../deps.ts'
import { artifactsOf } from '../plan/plan.ts'
import { isArtifactUsed, listPlaces, listRestartable, listUnderWay, underWay, updateDeployment } from '../store.ts'
import { releaseUploads } from './upload-release.ts'

export const cleanUpKind = sharedKind<{ projectId: string }>('deployments.clean-up')

/** Removes what was built and is no longer wanted: only ours, never what serves, never the rollback window. */
export const cleanUpJob = (deps: DeploymentsDeps) =>
  job<{ projectId: string }, unknown>(cleanUpKind, {
    deadlineMs: 15 * 60_000,
    run: ({ projectId }, _deps, abort) => cleanUpProject(projectId, deps, abort),
  })

/** For one project, wherever it was built. */
export async function cleanUpProject(projectId: string, deps: DeploymentsDeps, abort: AbortSignal): Promise<void> {
  const { db } = deps.database
  const project = await findAnyProject(db, projectId)
  if (!project) return
  const kept = new Set<string>()
  const removable: DeploymentRow[] = []
  const inWindow: string[] = []
  for (const { slug } of await allEnvironments(db, projectId)) {
    const rows = await listRestartable(db, projectId, slug)
    const { keep, remove } = splitByWindow(rows, project.rollbackWindow)
    for (const row of keep) for (const { reference } of Object.values(artifactsOf(row))) kept.add(reference)
    removable.push(...remove)
    inWindow.push(...keep.map(({ id }) => id))
  }
  for (const row of await listUnderWay(db, projectId))
    if (row.artifacts) for (const { reference } of Object.values(artifactsOf(row))) kept.add(reference)
  await removeArtifacts(removable, kept, deps, abort)
  await releaseUploads({ projectId }, inWindow, deps)
  for (const serverId of await listPlaces(db, projectId))
    await removeUnreferenced(projectId, kept, { database: deps.database, runtime: deps.runtimes.for(serverId) }, abort)
}

/** `rows` newest first. The live one always stays and does not use up the window. */
export function splitByWindow(
  rows: readonly DeploymentRow[],
  window: number,
): { keep: DeploymentRow[]; remove: DeploymentRow[] } {
  const old = rows.filter(({ status }) => status !== 'live')
  return { keep: [...rows.filter(({ status }) => status === 'live'), ...old.slice(0, window)], remove: old.slice(window) }
}

async function removeArtifacts(
  rows: readonly DeploymentRow[],
  kept: ReadonlySet<string>,
  deps: DeploymentsDeps,
  abort: AbortSignal,
) {
  for (const row of rows) {
    const runtime = deps.runtimes.for(row.serverId)
    for (const artifact of Object.values(artifactsOf(row)))
      if (!kept.has(artifact.reference) && artifact.sizeBytes > 0 && !(await isSharedImage(artifact, [row.id], deps)))
        await runtime.removeArtifact(artifact, abort)
    await updateDeployment(deps.database.db, row.id, { artifacts: null })
  }
}

/** A pulled image has one name for all projects: it stays while a deployment of any of them names it. */
export const isSharedImage = async (
  { reference }: Pick<Artifact, 'reference'>,
  except: readonly string[],
  { database }: Pick<DeploymentsDeps, 'database'>,
): Promise<boolean> => digestIn(reference) !== null && isArtifactUsed(database.db, reference, except)

/** What no deployment can be started from any more; asked anew for each, as its own may have gone on meanwhile. */
async function removeUnreferenced(
  projectId: string,
  kept: ReadonlySet<string>,
  { database, runtime }: Pick<DeploymentsDeps, 'database'> & { runtime: Runtime },
  abort: AbortSignal,
) {
  for (const artifact of await runtime.listArtifacts()) {
    if (artifact.projectId !== projectId || kept.has(artifact.reference)) continue
    const owner = await database.db
      .selectFrom('deployments')
      .select(['status', 'artifacts'])
      .where('id', '=', artifact.deploymentId)
      .executeTakeFirst()
    if (!isWanted(artifact, owner)) await runtime.removeArtifact(artifact, abort)
  }
}

/** A deployment that is under way may use whatever carries its mark; one that is over, what its row speaks of. */
export function isWanted(
  { reference }: Pick<Artifact, 'reference'>,
  owner: Pick<DeploymentRow, 'status' | 'artifacts'> | undefined,
): boolean {
  if (!owner) return false
  if (underWay.includes(owner.status)) return true
  if (owner.artifacts === null || owner.status === 'failed' || owner.status === 'cancelled') return false
  return Object.values(artifactsOf(owner)).some((artifact) => artifact.reference === reference)
}
