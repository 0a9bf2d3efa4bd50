import type { AdoptedVolume } from '../../drivers/runtime/runtime.ts'
import { volumeJson } from '../../platform/db/json-columns/deployments.ts'
import { page } from '../../platform/db/pages.ts'
import type { Db } from '../../platform/db/schema.ts'
import type { VolumeRow } from '../../platform/db/tables/deployments.ts'
import type { EnvironmentFilter } from './store.ts'

/** SQL of volumes. */

export const listVolumes = (db: Db, { projectId, environment }: EnvironmentFilter): Promise<VolumeRow[]> => {
  const query = db.selectFrom('volumes').selectAll().where('projectId', '=', projectId)
  return (environment === undefined ? query : query.where('environment', '=', environment)).execute()
}
export const pageOfVolumes = (db: Db, projectId: string, { limit = 100, cursor }: { limit?: number; cursor?: string }) =>
  page(db.selectFrom('volumes').selectAll().where('projectId', '=', projectId), {
    limit,
    cursor,
    by: ['createdAt', 'id'],
    direction: 'asc',
  })
export const findVolume = (db: Db, projectId: string, id: string): Promise<VolumeRow | undefined> =>
  db.selectFrom('volumes').selectAll().where('id', '=', id).where('projectId', '=', projectId).executeTakeFirst()
export const deleteVolumeRow = (db: Db, id: string) => db.deleteFrom('volumes').where('id', '=', id).execute()

/** The volume row of a name; created by the first caller. */
export async function volumeFor(db: Db, newVolume: Omit<VolumeRow, 'createdAt'> & { createdAt: number }): Promise<VolumeRow> {
  await db
    .insertInto('volumes')
    .values(newVolume)
    .onConflict((conflict) => conflict.columns(['projectId', 'environment', 'service', 'name']).doNothing())
    .execute()
  return db
    .selectFrom('volumes')
    .selectAll()
    .where('projectId', '=', newVolume.projectId)
    .where('environment', '=', newVolume.environment)
    .where('service', '=', newVolume.service)
    .where('name', '=', newVolume.name)
    .executeTakeFirstOrThrow()
}

/** Records that the data of the volume was created, so that it is not created again. */
export const markVolumeCreated = (db: Db, { id, serverId }: VolumeRow, machineId: string | null): Promise<unknown> =>
  db
    .updateTable('volumes')
    .set({ hasData: 1, ...(serverId === null ? { machineId } : {}) })
    .where('id', '=', id)
    .execute()

/** The volume or folder that existed on the server before the project. */
export const adoptedVolume = (volume: Pick<VolumeRow, 'id' | 'adopted'>): AdoptedVolume | undefined =>
  volumeJson.adopted(volume) ?? undefined

/** Records an existing volume or folder of a server as a volume of the project. */
export const adoptVolume = (db: Db, row: VolumeRow): Promise<unknown> => db.insertInto('volumes').values(row).execute()
