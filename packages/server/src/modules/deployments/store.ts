import { type DeploymentStatus, deploymentMoves, settledDeployment, sourcesOf } from '@berth/contract'
import type { Insertable, Updateable } from 'kysely'
import { page } from '../../platform/db/pages.ts'
import type { Db } from '../../platform/db/schema.ts'
import type {
  DeploymentRow,
  DeploymentsTable,
  InstanceRow,
  LiveEnvironmentRow,
  LiveEnvironmentsTable,
  ReplicasTable,
  VolumeRow,
} from '../../platform/db/tables/deployments.ts'
import type { ProjectRow } from '../../platform/db/tables/projects.ts'

/** All SQL of the deployments module. */

export const underWay: readonly DeploymentStatus[] = (['queued', 'building', 'deploying'] as const).filter(
  (status) => !settledDeployment.has(status),
)

export const findDeployment = (db: Db, id: string): Promise<DeploymentRow | undefined> =>
  db.selectFrom('deployments').selectAll().where('id', '=', id).executeTakeFirst()

export const findDeploymentOf = (db: Db, organizationId: string, id: string): Promise<DeploymentRow | undefined> =>
  db
    .selectFrom('deployments')
    .innerJoin('projects', 'projects.id', 'deployments.projectId')
    .where('projects.organizationId', '=', organizationId)
    .where('deployments.id', '=', id)
    .selectAll('deployments')
    .executeTakeFirst()

export const findProject = (db: Db, id: string): Promise<ProjectRow | undefined> =>
  db.selectFrom('projects').selectAll().where('id', '=', id).executeTakeFirst()

export async function nextNumber(db: Db, projectId: string): Promise<number> {
  const last = await db
    .selectFrom('deployments')
    .select('number')
    .where('projectId', '=', projectId)
    .orderBy('number', 'desc')
    .limit(1)
    .executeTakeFirst()
  return (last?.number ?? 0) + 1
}

export const insertDeployment = (db: Db, row: Insertable<DeploymentsTable>) => db.insertInto('deployments').values(row).execute()

/** The one way a deployment changes its status: atomic, and terminal is final. Undefined when it was not to be moved. */
export const transitionDeployment = (
  db: Db,
  id: string,
  to: DeploymentStatus,
  changes: Updateable<DeploymentsTable> = {},
): Promise<DeploymentRow | undefined> =>
  db
    .updateTable('deployments')
    .set({ ...changes, status: to })
    .where('id', '=', id)
    .where('status', 'in', sourcesOf(deploymentMoves, to))
    .returningAll()
    .executeTakeFirst()

/** Facts about a deployment that is still under way, or was live a moment ago; its status stays. */
export const updateDeployment = (db: Db, id: string, changes: Omit<Updateable<DeploymentsTable>, 'status' | 'id'>) =>
  db.updateTable('deployments').set(changes).where('id', '=', id).execute()

export const listQueued = (db: Db, projectId: string, environment: string): Promise<DeploymentRow[]> =>
  db
    .selectFrom('deployments')
    .selectAll()
    .where('projectId', '=', projectId)
    .where('environment', '=', environment)
    .where('status', '=', 'queued')
    .execute()

/** Without an environment: in all of them. */
export const listUnderWay = (db: Db, projectId: string, environment?: string): Promise<DeploymentRow[]> => {
  const found = db.selectFrom('deployments').selectAll().where('projectId', '=', projectId).where('status', 'in', underWay)
  return (environment === undefined ? found : found.where('environment', '=', environment)).execute()
}

/** Which deployment of a project has built what. */
export const listArtifactOwners = (db: Db, projectId: string) =>
  db.selectFrom('deployments').select(['id', 'environment', 'artifacts']).where('projectId', '=', projectId).execute()

/** Of an environment that is gone: what served does not any more, and what it kept is not kept. */
export async function endDeploymentsOf(db: Db, { projectId, environment }: { projectId: string; environment: string }) {
  const own = () => db.updateTable('deployments').where('projectId', '=', projectId).where('environment', '=', environment)
  await own().set({ status: 'superseded' }).where('status', '=', 'live').execute()
  await own().set({ artifacts: null, env: null, envSecretKeys: null }).execute()
}

export const listLiveDeployments = (db: Db, projectId: string, environment: string): Promise<DeploymentRow[]> =>
  db
    .selectFrom('deployments')
    .selectAll()
    .where('projectId', '=', projectId)
    .where('environment', '=', environment)
    .where('status', '=', 'live')
    .execute()

export interface DeploymentFilter {
  projectId?: string
  projectIds?: readonly string[]
  environment?: string
  status?: DeploymentStatus
  limit?: number
  cursor?: string
}

export function listDeployments(db: Db, organizationId: string | null, filter: DeploymentFilter) {
  let query = db.selectFrom('deployments').selectAll('deployments')
  if (organizationId)
    query = query.where('deployments.projectId', 'in', (eb) =>
      eb.selectFrom('projects').select('id').where('organizationId', '=', organizationId),
    )
  if (filter.projectId) query = query.where('deployments.projectId', '=', filter.projectId)
  if (filter.projectIds) query = query.where('deployments.projectId', 'in', [...filter.projectIds, ''])
  if (filter.environment) query = query.where('deployments.environment', '=', filter.environment)
  if (filter.status) query = query.where('deployments.status', '=', filter.status)
  return page(query, {
    limit: filter.limit ?? 100,
    cursor: filter.cursor ?? null,
    by: ['deployments.createdAt', 'deployments.id'],
    direction: 'desc',
  })
}

/** Good ones, newest first: what a rollback may go back to, and what cleaning up must keep. */
export const listRestartable = (db: Db, projectId: string, environment: string): Promise<DeploymentRow[]> =>
  db
    .selectFrom('deployments')
    .selectAll()
    .where('projectId', '=', projectId)
    .where('environment', '=', environment)
    .where('status', 'in', ['live', 'superseded'])
    .where('artifacts', 'is not', null)
    .orderBy('number', 'desc')
    .execute()

export const findLive = (db: Db, projectId: string, environment: string): Promise<LiveEnvironmentRow | undefined> =>
  db
    .selectFrom('liveEnvironments')
    .selectAll()
    .where('projectId', '=', projectId)
    .where('environment', '=', environment)
    .executeTakeFirst()

/** How that deployment runs, else the one that serves production or did last. */
export const findPlan = (db: Db, projectId: string, deploymentId?: string): Promise<Pick<DeploymentRow, 'plan'> | undefined> =>
  db
    .selectFrom('deployments')
    .select('plan')
    .where('projectId', '=', projectId)
    .where('id', '=', (eb) =>
      deploymentId === undefined
        ? eb
            .selectFrom('liveEnvironments')
            .select('deploymentId')
            .where('projectId', '=', projectId)
            .where('environment', '=', 'production')
        : eb.val(deploymentId),
    )
    .executeTakeFirst()

export const listLive = (db: Db, projectIds?: readonly string[]): Promise<LiveEnvironmentRow[]> => {
  const query = db.selectFrom('liveEnvironments').selectAll()
  return (projectIds ? query.where('projectId', 'in', [...projectIds, '']) : query).execute()
}

/** All of a project, or one environment of it. */
type OfProject = { projectId: string; environment?: string | undefined }

/** From then on the edge has no route to it. */
export const deleteLive = (db: Db, { projectId, environment }: OfProject) => {
  const found = db.deleteFrom('liveEnvironments').where('projectId', '=', projectId)
  return (environment === undefined ? found : found.where('environment', '=', environment)).execute()
}

export const setLive = (db: Db, row: Insertable<LiveEnvironmentsTable>) =>
  db
    .insertInto('liveEnvironments')
    .values(row)
    .onConflict((conflict) => conflict.columns(['projectId', 'environment']).doUpdateSet(row))
    .execute()

export const updateLive = (
  db: Db,
  { projectId, environment }: Pick<LiveEnvironmentRow, 'projectId' | 'environment'>,
  changes: Updateable<LiveEnvironmentsTable>,
) =>
  db
    .updateTable('liveEnvironments')
    .set(changes)
    .where('projectId', '=', projectId)
    .where('environment', '=', environment)
    .execute()

/** Changes what an environment is doing, if it is still doing that with that deployment; false when it is not. */
export async function transitionLive(
  db: Db,
  { projectId, environment, deploymentId }: Pick<LiveEnvironmentRow, 'projectId' | 'environment' | 'deploymentId'>,
  from: readonly LiveEnvironmentRow['state'][],
  changes: Updateable<LiveEnvironmentsTable>,
): Promise<boolean> {
  const moved = await db
    .updateTable('liveEnvironments')
    .set(changes)
    .where('projectId', '=', projectId)
    .where('environment', '=', environment)
    .where('deploymentId', '=', deploymentId)
    .where('state', 'in', from)
    .returning('projectId')
    .execute()
  return moved.length > 0
}

export const insertInstance = (db: Db, row: Insertable<ReplicasTable>) => db.insertInto('instances').values(row).execute()
export const updateInstance = (db: Db, id: string, changes: Updateable<ReplicasTable>) =>
  db.updateTable('instances').set(changes).where('id', '=', id).execute()
export const deleteInstance = (db: Db, id: string) => db.deleteFrom('instances').where('id', '=', id).execute()
export const findInstance = (db: Db, id: string): Promise<InstanceRow | undefined> =>
  db.selectFrom('instances').selectAll().where('id', '=', id).executeTakeFirst()
export const listInstances = (
  db: Db,
  filter: Partial<Pick<InstanceRow, 'deploymentId' | 'projectId' | 'environment' | 'state'>> = {},
): Promise<InstanceRow[]> => {
  let query = db.selectFrom('instances').selectAll()
  for (const [column, value] of Object.entries(filter)) query = query.where(column as 'state', '=', value as never)
  return query.execute()
}

/** Where something of a project may be: this machine, and each server that built or ran a version of it. */
export async function listPlaces(db: Db, projectId: string): Promise<(string | null)[]> {
  const rows = await db.selectFrom('deployments').select('serverId').distinct().where('projectId', '=', projectId).execute()
  return [...new Set([null, ...rows.map(({ serverId }) => serverId)])]
}

export const listVolumes = (db: Db, { projectId, environment }: OfProject): Promise<VolumeRow[]> => {
  const found = db.selectFrom('volumes').selectAll().where('projectId', '=', projectId)
  return (environment === undefined ? found : found.where('environment', '=', environment)).execute()
}
export const deleteVolumeRow = (db: Db, id: string) => db.deleteFrom('volumes').where('id', '=', id).execute()

/** The identity that is stored for a name; made once, whoever asks first. */
export async function volumeFor(db: Db, wanted: Omit<VolumeRow, 'createdAt'> & { createdAt: number }): Promise<VolumeRow> {
  await db
    .insertInto('volumes')
    .values(wanted)
    .onConflict((conflict) => conflict.columns(['projectId', 'environment', 'service', 'name']).doNothing())
    .execute()
  return db
    .selectFrom('volumes')
    .selectAll()
    .where('projectId', '=', wanted.projectId)
    .where('environment', '=', wanted.environment)
    .where('service', '=', wanted.service)
    .where('name', '=', wanted.name)
    .executeTakeFirstOrThrow()
}
