import type { Db } from '../../../platform/db/schema.ts'
import type { VolumeRow } from '../../../platform/db/tables/deployments.ts'
import { listLive } from '../live-environments.ts'
import { findDeployment } from '../store.ts'
import { artifactsOf } from './deployed.ts'

/** Data that this machine's Docker engine stores outside the data folder: volumes, and the images of live deployments. */
export async function listEngineData(db: Db): Promise<{ volumes: VolumeRow[]; images: string[] }> {
  const volumes = await db
    .selectFrom('volumes')
    .selectAll()
    .where('runtime', '=', 'docker')
    .where('serverId', 'is', null)
    .execute()
  const images = new Set<string>()
  for (const { deploymentId } of await listLive(db)) {
    const deployment = deploymentId ? await findDeployment(db, deploymentId) : undefined
    if (!deployment?.artifacts || deployment.serverId !== null) continue
    for (const { kind, reference } of Object.values(artifactsOf(deployment))) if (kind === 'image') images.add(reference)
  }
  return { volumes, images: [...images] }
}
