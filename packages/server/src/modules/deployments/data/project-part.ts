import { basename } from 'node:path'
import type { DeletionItem } from '@berth/contract'
import { digestIn } from '../../../drivers/registry/image-name.ts'
import type { Artifact, Runtime } from '../../../drivers/runtime/runtime.ts'
import type { VolumeRow } from '../../../platform/db/tables/deployments.ts'
import { type DeletionOptions, findAnyProject, findBySubject, type ProjectPart, ResumeLater } from '../../projects/index.ts'
import type { DeploymentsDeps } from '../deps.ts'
import { listInstances } from '../instance-store.ts'
import { deleteLive } from '../live-environments.ts'
import { artifactsOf, storedArtifacts } from '../plan/deployed.ts'
import { cancelDeployment } from '../request/cancel.ts'
import { enqueueDeployment } from '../request/request-deployment.ts'
import { stopInstances } from '../run/run-units.ts'
import { endDeploymentsOf, listArtifactOwners, listInProgress, listLocations } from '../store.ts'
import { adoptedVolume, deleteVolumeRow, listVolumes } from '../volume-store.ts'
import { isSharedImage } from './clean-up.ts'

import { releaseUploads } from './upload-release.ts'

/** A whole project, or one of its environments. */
interface DeploymentTarget {
  projectId: string
  environment?: string
}

/** The deployments, artifacts and volumes of a project or environment, and how they are deleted with it. */
export const deploymentsPart = (deps: DeploymentsDeps): ProjectPart => ({
  describe: 'deployments',
  previewDeletion: ({ id }, options) => deletionItems({ projectId: id }, options, deps),
  remove: ({ id }, options) => removeTarget({ projectId: id }, options, deps),
  resume: (projectId) => resumeQueued(projectId, deps),
  ofEnvironment: {
    previewDeletion: ({ id }, environment, options) => deletionItems({ projectId: id, environment }, options, deps),
    async remove({ id }, environment, options) {
      const target = { projectId: id, environment }
      await removeTarget(target, options, deps)
      // The project keeps the history; none of these deployments can serve, be rolled back to, or hold a variable any more.
      await endDeploymentsOf(deps.database.db, target)
    },
  },
})

/** Resumes deployments of pushes that arrived during a restore or a move; cancels them if the project has moved away. */
async function resumeQueued(projectId: string, deps: DeploymentsDeps): Promise<void> {
  const project = await findAnyProject(deps.database.db, projectId)
  const isHere = project?.presence === 'here' || project?.presence === 'departing'
  for (const deployment of await listInProgress(deps.database.db, projectId)) {
    if ((await findBySubject(deps.database.db, deployment.id))?.phase !== 'waiting') continue
    if (!isHere) {
      await cancelDeployment(deployment, deps, movedMessage).catch(() => undefined)
      continue
    }
    const { isRunning } = await deps.database.transaction((transaction) =>
      enqueueDeployment(deployment, project, transaction, deps),
    )
    if (isRunning) throw new ResumeLater()
  }
}

const movedMessage = 'The project was transferred while this deployment was queued. Deploy it at the target.'

async function deletionItems(
  target: DeploymentTarget,
  { deleteVolumes }: DeletionOptions,
  deps: DeploymentsDeps,
): Promise<DeletionItem[]> {
  const { db } = deps.database
  const items: DeletionItem[] = []
  for (const row of await listInstances(db, target))
    items.push({ kind: 'instance', id: row.id, name: row.service || 'app', sizeBytes: null, kept: false })
  const artifacts = await artifactsAt(target, deps).catch((error: unknown) => {
    deps.log.warn({ err: error, projectId: target.projectId }, 'deployments: artifacts not listed, showing the recorded ones')
    return recordedArtifacts(target, deps)
  })
  for (const { artifact } of artifacts) {
    const { kind, sizeBytes } = artifact
    // The process runtime stores artifacts in folders. Only operators may see the path.
    const name = artifact.reference.startsWith('/') ? basename(artifact.reference.replace(/\/static$/, '')) : artifact.reference
    items.push({ kind, id: name, name, sizeBytes, kept: false })
  }
  const volumes = (await listVolumes(db, target)).map(async (volume) => ({
    kind: 'volume',
    id: volume.id,
    name: volume.name,
    sizeBytes: await deps.runtimes
      .for(volume.serverId)
      .volumeSizeBytes(volume.id)
      .catch(() => null),
    ...retentionOf(volume, deleteVolumes),
  }))
  return [...items, ...(await Promise.all(volumes))]
}

/** Artifacts according to the database, for when the engine or server is unreachable. */
async function recordedArtifacts({ projectId, environment }: DeploymentTarget, { database }: DeploymentsDeps) {
  const owners = (await listArtifactOwners(database.db, projectId)).filter(
    (row) => row.artifacts !== null && row.environment === (environment ?? row.environment),
  )
  return owners.flatMap((row) => Object.values(artifactsOf(row)).map((artifact) => ({ artifact })))
}

/** An adopted volume or folder existed on the server before the project and is always kept. */
function retentionOf(volume: VolumeRow, deleteVolumes: boolean): Pick<DeletionItem, 'kept' | 'reason'> {
  const adopted = adoptedVolume(volume)
  if (adopted) {
    const name = 'volume' in adopted ? `The volume ${adopted.volume}` : 'The folder'
    return { kept: true, reason: `${name} existed on the server before the project and is kept` }
  }
  return deleteVolumes ? { kept: false } : { kept: true, reason: keptReason }
}

const keptReason = 'volumes are kept unless deleteVolumes=true'

/** A deletion cannot be cancelled; each runtime call has its own time limit. */
const neverAborted = new AbortController().signal

async function removeTarget(target: DeploymentTarget, { deleteVolumes }: DeletionOptions, deps: DeploymentsDeps): Promise<void> {
  const { db } = deps.database
  for (const row of await listInProgress(db, target.projectId, target.environment))
    await cancelDeployment(row, deps).catch(() => undefined)
  await deleteLive(db, target)
  await deps.edge.sync()
  // The timeout covers all instances together.
  await stopInstances(await listInstances(db, target), deps, AbortSignal.timeout(60_000))
  await releaseUploads(target, [], deps)
  for (const { runtime, artifact } of await artifactsAt(target, deps)) await runtime.removeArtifact(artifact, neverAborted)
  if (target.environment === undefined)
    for (const serverId of await listLocations(db, target.projectId))
      await deps.runtimes.for(serverId).removeBuilds(target.projectId, neverAborted)
  if (!deleteVolumes) return
  for (const volume of await listVolumes(db, target)) {
    await deps.runtimes.for(volume.serverId).removeVolume(volume.id)
    await deleteVolumeRow(db, volume.id)
  }
}

/** Images pulled for an image project that no other project uses. */
async function unsharedPulledImages(
  owners: Awaited<ReturnType<typeof listArtifactOwners>>,
  { database, runtimes }: Pick<DeploymentsDeps, 'database' | 'runtimes'>,
) {
  const ownerIds = owners.map(({ id }) => id)
  const pulled = new Map<string, { runtime: Runtime; artifact: Artifact }>()
  for (const owner of owners)
    for (const artifact of Object.values(storedArtifacts(owner) ?? {}))
      if (digestIn(artifact.reference) && artifact.sizeBytes > 0 && !pulled.has(artifact.reference))
        if (!(await isSharedImage(artifact, ownerIds, { database })))
          pulled.set(artifact.reference, { runtime: runtimes.for(owner.serverId), artifact })
  return [...pulled.values()]
}

/** Artifacts built for a project on any server; for an environment, only those that no other environment uses. */
async function artifactsAt({ projectId, environment }: DeploymentTarget, { database, runtimes }: DeploymentsDeps) {
  const listings = (await listLocations(database.db, projectId)).map(async (serverId) => {
    const runtime = runtimes.for(serverId)
    const artifacts = await runtime.listArtifacts()
    return artifacts.flatMap((artifact) => (artifact.projectId === projectId ? [{ runtime, artifact }] : []))
  })
  const artifacts = (await Promise.all(listings)).flat()
  const owners = await listArtifactOwners(database.db, projectId)
  if (environment === undefined) return [...artifacts, ...(await unsharedPulledImages(owners, { database, runtimes }))]
  const ownDeploymentIds = new Set(owners.filter((row) => row.environment === environment).map(({ id }) => id))
  const otherArtifacts = owners.filter((row) => row.environment !== environment).map(({ artifacts }) => artifacts ?? '')
  const isUsed = (reference: string) => otherArtifacts.some((text) => text.includes(JSON.stringify(reference)))
  return artifacts.filter(({ artifact }) => ownDeploymentIds.has(artifact.deploymentId) && !isUsed(artifact.reference))
}
