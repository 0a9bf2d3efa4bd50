import { type DeploymentStatus, deploymentTransitions, settledDeployment, sourcesOf } from '@berth/contract'
import { type Insertable, sql, type Updateable } from 'kysely'
import { type Awaitable, thenSync } from '../../platform/awaitable.ts'
import { idsOrNone } from '../../platform/db/id-lists.ts'
import { type Page, page, preparedPage } from '../../platform/db/pages.ts'
import { preparedQuery } from '../../platform/db/prepared.ts'
import type { Db } from '../../platform/db/schema.ts'
import type { DeploymentRow, DeploymentsTable, InstanceRow, LiveEnvironmentRow } from '../../platform/db/tables/deployments.ts'
import { organizationOfProject, projectsOf } from '../projects/index.ts'
import { listLive, updateLive } from './live-environments.ts'

/** SQL of deployments, and queries about instances and volumes together. */

export const inProgressStatuses: readonly DeploymentStatus[] = (['queued', 'building', 'deploying'] as const).filter(
  (status) => !settledDeployment.has(status),
)

/** Raw SQL: a partial index is used only if the query repeats its condition literally. */
const isLive = sql<boolean>`status = 'live'`

export const findDeployment = (db: Db, id: string): Promise<DeploymentRow | undefined> =>
  db.selectFrom('deployments').selectAll().where('id', '=', id).executeTakeFirst()

export const findDeploymentOf = (db: Db, organizationId: string, id: string): Promise<DeploymentRow | undefined> =>
  db
    .selectFrom('deployments')
    .innerJoin(projectsOf(db, organizationId).as('project'), 'project.id', 'deployments.projectId')
    .where('deployments.id', '=', id)
    .selectAll('deployments')
    .executeTakeFirst()

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

export const findNewest = (db: Db, projectId: string, environment: string): Promise<DeploymentRow | undefined> =>
  db
    .selectFrom('deployments')
    .selectAll()
    .where('projectId', '=', projectId)
    .where('environment', '=', environment)
    .orderBy('number', 'desc')
    .limit(1)
    .executeTakeFirst()

/** The newest deployment of the environment, if it has this request key. */
export async function findRequested(db: Db, projectId: string, environment: string, requestKey: string) {
  const newest = await findNewest(db, projectId, environment)
  return newest?.requestKey === requestKey ? newest : undefined
}

type NewDeployment = Omit<Insertable<DeploymentsTable>, 'organizationId'>

const withOrganization = (db: Db, row: NewDeployment) => ({ ...row, organizationId: organizationOfProject(db, row.projectId) })

export const insertDeployment = (db: Db, row: NewDeployment) =>
  db.insertInto('deployments').values(withOrganization(db, row)).execute()

/** Inserts the row; keeps an existing row with the same id. */
export const insertHistory = (db: Db, row: NewDeployment): Promise<unknown> =>
  db
    .insertInto('deployments')
    .values(withOrganization(db, row))
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute()

/** Changes the status of a deployment atomically; a terminal status is final. Returns undefined when the move is not allowed. */
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
    .where('status', 'in', sourcesOf(deploymentTransitions, to))
    .returningAll()
    .executeTakeFirst()

/** Updates columns other than the status. */
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

/** Deployments in progress; without `environment`, of all environments. */
export const listInProgress = (db: Db, projectId: string, environment?: string): Promise<DeploymentRow[]> => {
  const query = db
    .selectFrom('deployments')
    .selectAll()
    .where('projectId', '=', projectId)
    .where('status', 'in', inProgressStatuses)
  return (environment === undefined ? query : query.where('environment', '=', environment)).execute()
}

/** Artifacts by deployment. */
export const listArtifactOwners = (db: Db, projectId: string) =>
  db.selectFrom('deployments').select(['id', 'environment', 'artifacts', 'serverId']).where('projectId', '=', projectId).execute()

/** Deployments of production that are live or in progress. */
export const listCurrentProduction = (db: Db, projectIds: readonly string[]) =>
  db
    .selectFrom('deployments')
    .select(['projectId', 'status', 'artifacts'])
    .where('projectId', 'in', projectIds)
    .where('environment', '=', 'production')
    .where('status', 'in', ['live', ...inProgressStatuses])
    .execute()

/** Whether any other deployment, of any project, uses the artifact. */
export async function isArtifactUsed(db: Db, reference: string, exceptIds: readonly string[]): Promise<boolean> {
  const user = await db
    .selectFrom('deployments')
    .select('id')
    .where('artifacts', 'like', `%${JSON.stringify(reference)}%`)
    .$if(exceptIds.length > 0, (query) => query.where('id', 'not in', exceptIds))
    .limit(1)
    .executeTakeFirst()
  return user !== undefined
}

/** Ends the deployments of a deleted environment: none is live, and artifacts and variables are dropped. */
export async function endDeploymentsOf(db: Db, { projectId, environment }: { projectId: string; environment: string }) {
  const updateOwn = () => db.updateTable('deployments').where('projectId', '=', projectId).where('environment', '=', environment)
  await updateOwn().set({ status: 'superseded' }).where('status', '=', 'live').execute()
  await updateOwn().set({ artifacts: null, env: null, envSecretKeys: null }).execute()
}

/** Detaches uploads from deployments, except those in progress and those in `keptIds`. Returns the ids of the upload sessions. */
export async function detachUploads(
  db: Db,
  { projectId, environment }: EnvironmentFilter,
  keptIds: readonly string[],
): Promise<string[]> {
  const query = db
    .selectFrom('deployments')
    .select(['id', 'uploadSessionId'])
    .where('projectId', '=', projectId)
    .where('uploadSessionId', 'is not', null)
    .where('status', 'not in', inProgressStatuses)
    .where('id', 'not in', idsOrNone(keptIds))
  const rows = await (environment === undefined ? query : query.where('environment', '=', environment)).execute()
  const ids = rows.map(({ id }) => id)
  if (ids.length > 0) await db.updateTable('deployments').set({ uploadSessionId: null }).where('id', 'in', ids).execute()
  return [...new Set(rows.map(({ uploadSessionId }) => uploadSessionId as string))]
}

/** The uploads among these that a deployment uses; `exceptProject` ignores the deployments of one project. */
export async function listUsedUploads(
  db: Db,
  sessionIds: readonly string[],
  { exceptProject }: { exceptProject?: string } = {},
): Promise<ReadonlySet<string>> {
  let used = db
    .selectFrom('deployments')
    .select('uploadSessionId')
    .distinct()
    .where('uploadSessionId', 'in', idsOrNone(sessionIds))
  if (exceptProject) used = used.where('projectId', '!=', exceptProject)
  const rows = await used.execute()
  return new Set(rows.map(({ uploadSessionId }) => uploadSessionId as string))
}

export const listLiveDeployments = (db: Db, projectId: string, environment: string): Promise<DeploymentRow[]> =>
  db
    .selectFrom('deployments')
    .selectAll()
    .where('projectId', '=', projectId)
    .where('environment', '=', environment)
    .where(isLive)
    .execute()

/** The newest version of the environment that was live before this deployment. */
export const findLiveBefore = (
  db: Db,
  { projectId, environment, number }: Pick<DeploymentRow, 'projectId' | 'environment' | 'number'>,
): Promise<DeploymentRow | undefined> =>
  db
    .selectFrom('deployments')
    .selectAll()
    .where('projectId', '=', projectId)
    .where('environment', '=', environment)
    .where('number', '<', number)
    .where('status', 'in', ['live', 'superseded'])
    .orderBy('number', 'desc')
    .limit(1)
    .executeTakeFirst()

export interface DeploymentFilter {
  projectId?: string
  projectIds?: readonly string[]
  environment?: string
  status?: DeploymentStatus
  limit?: number
  cursor?: string
}

export function listDeployments(db: Db, organizationId: string | null, filter: DeploymentFilter): Awaitable<Page<DeploymentRow>> {
  const { projectIds, projectId, environment, status, limit = 100, cursor = null } = filter
  const criteria = { organizationId: organizationId ?? undefined, projectId, environment, status }
  if (projectIds) {
    const query = deploymentsWhere(db, criteria).where('deployments.projectId', 'in', idsOrNone(projectIds))
    return page(query, { limit, cursor, ...newestFirst })
  }
  if (!organizationId || projectId) return pageOfDeployments(db, criteria, { limit, cursor })
  return thenSync(withoutOrganization.first(db, {}), (found) =>
    (found ? pageOfDeployments : pageOfOrganization)(db, criteria, { limit, cursor }),
  )
}

/**
 * A deployment without `organizationId`. A worker of an earlier version inserts such rows. While there is one, the list of an
 * organisation is not read by this column.
 */
const withoutOrganization = preparedQuery<Record<never, string>, { id: string }>((db) =>
  db.selectFrom('deployments').select('id').where('organizationId', 'is', null).limit(1),
)

interface Criteria {
  organizationId?: string | undefined
  projectId?: string | undefined
  environment?: string | undefined
  status?: DeploymentStatus | undefined
}

function deploymentsWhere(db: Db, { organizationId, projectId, environment, status }: Criteria) {
  let query = db.selectFrom('deployments').selectAll('deployments')
  if (organizationId)
    // A project that was moved away is not listed.
    query = query.where(({ exists }) =>
      exists(projectsOf(db, organizationId).where('projects.id', '=', sql.ref<string>('deployments.projectId'))),
    )
  if (projectId) query = query.where('deployments.projectId', '=', projectId)
  if (environment) query = query.where('deployments.environment', '=', environment)
  if (status) query = query.where('deployments.status', '=', status)
  return query
}

const newestFirst = { by: ['deployments.createdAt', 'deployments.id'], direction: 'desc' } as const
const pageOfDeployments = preparedPage<Criteria, 'deployments', DeploymentRow>(deploymentsWhere, newestFirst)
/** The same page, read by the index on `organizationId`. */
const pageOfOrganization = preparedPage<Criteria, 'deployments', DeploymentRow>(
  (db, criteria) => deploymentsWhere(db, criteria).where('deployments.organizationId', '=', criteria.organizationId as string),
  newestFirst,
)

/** Successful deployments, newest first: the candidates for a rollback, which cleanup must keep. */
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

/** The deployment that serves production. */
export const findLiveVersion = (db: Db, projectId: string) =>
  db
    .selectFrom('deployments')
    .select(['id', 'source', 'plan', 'artifacts', 'branch', 'commitSha'])
    .where('projectId', '=', projectId)
    .where('environment', '=', 'production')
    .where(isLive)
    .executeTakeFirst()

/** The plan of a deployment; without an id, of the current or last live deployment of production. */
export const findPlan = (
  db: Db,
  projectId: string,
  deploymentId?: string,
): Promise<Pick<DeploymentRow, 'id' | 'plan'> | undefined> =>
  db
    .selectFrom('deployments')
    .select(['id', 'plan'])
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

/** A whole project, or one of its environments. */
export type EnvironmentFilter = { projectId: string; environment?: string | undefined }

/** Server ids by deployment, for the given deployments that ran on a server. */
export async function locationsOf(
  db: Db,
  deployments: readonly { deploymentId: string | null }[],
): Promise<ReadonlyMap<string, string>> {
  const ids = deployments.flatMap(({ deploymentId }) => deploymentId ?? [])
  const query = db.selectFrom('deployments').select(['id', 'serverId']).where('serverId', 'is not', null)
  const rows = ids.length === 0 ? [] : await query.where('id', 'in', ids).execute()
  return new Map(rows.map(({ id, serverId }) => [id, serverId as string]))
}

/** Instances and volumes on a server. */
export async function listServerUses(db: Db, serverId: string): Promise<string[]> {
  const [instances, volumes] = await Promise.all([
    db.selectFrom('instances').select('id').where('serverId', '=', serverId).limit(10).execute(),
    db.selectFrom('volumes').select(['id', 'name']).where('serverId', '=', serverId).limit(10).execute(),
  ])
  return [...instances.map(({ id }) => `the instance ${id}`), ...volumes.map(({ id, name }) => `the volume ${name} (${id})`)]
}

/** Locations of a project: this machine (null), and each server that built or ran a deployment of it. */
export async function listLocations(db: Db, projectId: string): Promise<(string | null)[]> {
  const rows = await db.selectFrom('deployments').select('serverId').distinct().where('projectId', '=', projectId).execute()
  return [...new Set([null, ...rows.map(({ serverId }) => serverId)])]
}

/** All locations with deployments, this machine (null) first. */
export async function listAllLocations(db: Db): Promise<(string | null)[]> {
  const rows = await db.selectFrom('deployments').select('serverId').distinct().execute()
  return [...new Set([null, ...rows.map(({ serverId }) => serverId)])]
}

// Queries for other modules

/** Assigns all instances and volumes that are not on a server to the machine that runs projects: there is only one. */
export async function assignToMachine(db: Db, machineId: string): Promise<void> {
  await db
    .updateTable('instances')
    .set({ machineId })
    .where('serverId', 'is', null)
    .where((eb) => eb.or([eb('machineId', 'is', null), eb('machineId', '!=', machineId)]))
    .execute()
  await db
    .updateTable('volumes')
    .set({ machineId })
    .where('serverId', 'is', null)
    .where((eb) => eb.or([eb('machineId', 'is', null), eb('machineId', '!=', machineId)]))
    .execute()
}

/** Sets the organisation of deployments that a worker of an earlier version has inserted. */
export const assignToOrganizations = (db: Db): Promise<unknown> =>
  db
    .updateTable('deployments')
    .set({ organizationId: organizationOfProject(db, sql.ref('deployments.projectId')) })
    .where('organizationId', 'is', null)
    .execute()

/** State for the edge: the live environments, and the instances that may receive requests. */
export async function servedState(db: Db): Promise<{ live: LiveEnvironmentRow[]; instances: InstanceRow[] }> {
  const routed = db.selectFrom('liveEnvironments').select('projectId').where('serviceRoutes', 'is not', null)
  const exposed = db
    .selectFrom('instances')
    .selectAll()
    .where('state', '=', 'running')
    .where((eb) => eb.or([eb('exposed', '=', 1), eb('projectId', 'in', routed)]))
  const [live, instances] = await Promise.all([listLive(db), exposed.execute()])
  return { live, instances }
}

/** Rewrites paths after the data folder was moved; `move` returns the new path. */
export async function movePaths(db: Db, move: (path: string) => string): Promise<void> {
  const moveJson = (json: string) =>
    JSON.stringify(JSON.parse(json), (_, value) => (typeof value === 'string' ? move(value) : value))
  for (const { id, artifacts, source } of await db.selectFrom('deployments').select(['id', 'artifacts', 'source']).execute()) {
    const moved = { artifacts: artifacts === null ? null : moveJson(artifacts), source: moveJson(source) }
    if (moved.artifacts !== artifacts || moved.source !== source) await updateDeployment(db, id, moved)
  }
  for (const live of await listLive(db))
    if (live.staticFolder !== null) await updateLive(db, live, { staticFolder: move(live.staticFolder) })
}
