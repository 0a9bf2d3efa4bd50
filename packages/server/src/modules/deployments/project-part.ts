import type { DeletionItem } from '@berth/contract'
import type { ProjectPart } from '../projects/index.ts'
import { cancelDeployment } from './cancel.ts'
import type { DeploymentsDeps } from './deps.ts'
import { stopInstances } from './run-units.ts'
import { deleteVolumeRow, listInstances, listPlaces, listUnderWay, listVolumes } from './store.ts'

/** What deployments leave on a project, and how it goes with it. */
export const deploymentsPart = (deps: DeploymentsDeps): ProjectPart => ({
  describe: 'deployments',
  async previewDeletion({ id }, { deleteVolumes }) {
    const { db } = deps.database
    const items: DeletionItem[] = []
    for (const row of await listInstances(db, { projectId: id }))
      items.push({ kind: 'instance', id: row.id, name: row.service || 'app', sizeBytes: null, kept: false })
    for (const { artifact } of await artifactsOfProject(id, deps))
      items.push({
        kind: artifact.kind,
        id: artifact.reference,
        name: artifact.reference,
        sizeBytes: artifact.sizeBytes,
        kept: false,
      })
    for (const volume of await listVolumes(db, id))
      items.push({
        kind: 'volume',
        id: volume.id,
        name: volume.name,
        sizeBytes: await deps.runtimes
          .for(volume.serverId)
          .volumeSizeBytes(volume.id)
          .catch(() => null),
        kept: !deleteVolumes,
        ...(deleteVolumes ? {} : { reason: 'volumes stay unless deleteVolumes=true' }),
      })
    return items
  },
  async workUnderWay(db, projectId) {
    return (await listUnderWay(db, projectId)).map(({ id, status }) => ({ kind: 'deployment', id, status }))
  },
  async remove({ id }, { deleteVolumes }) {
    const { db } = deps.database
    for (const row of await listUnderWay(db, id)) await cancelDeployment(row, deps).catch(() => undefined)
    await db.deleteFrom('liveEnvironments').where('projectId', '=', id).execute()
    await deps.edge.sync()
    await stopInstances(await listInstances(db, { projectId: id }), deps, AbortSignal.timeout(60_000))
    for (const { runtime, artifact } of await artifactsOfProject(id, deps))
      await runtime.removeArtifact(artifact, AbortSignal.timeout(60_000))
    if (!deleteVolumes) return
    for (const volume of await listVolumes(db, id)) {
      await deps.runtimes.for(volume.serverId).removeVolume(volume.id)
      await deleteVolumeRow(db, volume.id)
    }
  },
})

/** What was built for a project, wherever that was. */
async function artifactsOfProject(projectId: string, { database, runtimes }: DeploymentsDeps) {
  const found = []
  for (const serverId of await listPlaces(database.db, projectId)) {
    const runtime = runtimes.for(serverId)
    for (const artifact of await runtime.listArtifacts()) if (artifact.projectId === projectId) found.push({ runtime, artifact })
  }
  return found
}
