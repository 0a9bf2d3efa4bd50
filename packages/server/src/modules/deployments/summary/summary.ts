import { sql } from 'kysely'
import { type Awaitable, thenSync } from '../../../platform/awaitable.ts'
import { idListTable, idListText, isAmong, isInIdList } from '../../../platform/db/id-lists.ts'
import { liveEnvironmentJson } from '../../../platform/db/json-columns/deployments.ts'
import { groupRows, memoizeByRows } from '../../../platform/db/memoize-rows.ts'
import { preparedQuery } from '../../../platform/db/prepared.ts'
import type { Db } from '../../../platform/db/schema.ts'
import type { DeploymentRow, LiveEnvironmentRow } from '../../../platform/db/tables/deployments.ts'
import type { DeploymentFacts, DeploymentReader, DeploymentSummary, RunningProjects, RunningState } from '../../projects/index.ts'
import type { DeploymentsDeps } from '../deps.ts'
import { failingServicesText, statesOf as servicesIn, showStates } from '../health/service-states.ts'
import { deployedSource, planOf } from '../plan/deployed.ts'
import { findLiveVersion, findPlan, listDeployments, listUsedUploads } from '../store.ts'
import { deploymentList, imageOf, showPlan } from './show.ts'

const production = 'production'

/** Deployment queries of the projects module. */
export const deploymentReader = ({ database: { db } }: DeploymentsDeps): DeploymentReader => ({
  summaries: (projectIds) => thenSync(readSummaryRows(db, projectIds), summariesFrom),
  list: (projectId, query) => thenSync(listDeployments(db, null, { ...query, projectId }), deploymentList),
  async newest(projectId) {
    const { rows } = await listDeployments(db, null, { projectId, limit: 1 })
    return rows[0] ? { id: rows[0].id, status: rows[0].status } : null
  },
  async liveVersion(projectId) {
    const row = await findLiveVersion(db, projectId)
    if (!row) return undefined
    const { id, commitSha } = row
    return { deploymentId: id, source: deployedSource(row), commit: commitSha, image: imageOf(row), plan: showPlan(row) }
  },
  listUsedUploads,
  async exposedService(projectId, deploymentId) {
    const row = await findPlan(db, projectId, deploymentId)
    // The project itself is the unit without a name.
    return (row?.plan && planOf(row).units.find(({ exposed }) => exposed)?.service) || undefined
  },
})

/**
 * The newest and the live deployment of production, with the columns of a summary. Both are found by an index: a project may have
 * thousands of deployments.
 */
const summaryQuery = preparedQuery<ProjectsParameter, SummaryRow>((db, { projectId, list }) => {
  const project = (
    list === undefined ? sql<{ id: string }>`(select cast(${projectId!} as text) as id)` : idListTable(db, list)
  ).as('project')
  const newest = db
    .selectFrom('deployments as other')
    .select('other.id')
    .where('other.projectId', '=', sql.ref<string>('project.id'))
    .where('other.environment', '=', production)
    .orderBy('other.number', 'desc')
    .limit(1)
  const live = db
    .selectFrom('deployments as live')
    .select('live.id')
    .where(list === undefined ? sql<boolean>`"live"."projectId" = ${projectId!}` : isInIdList(db, 'live.projectId', list))
    .where('live.environment', '=', production)
    // Raw SQL: a partial index is used only if the query repeats its condition literally.
    .where(sql<boolean>`live.status = 'live'`)
  const ids = db.selectFrom(project).select(newest.as('id')).unionAll(live)
  return db
    .selectFrom('deployments')
    .select([
      ...(['id', 'projectId', 'number', 'status', 'errorMessage', 'commitSha', 'artifacts', 'sizeBytes', 'finishedAt'] as const),
      ...(['configHash', 'resourcesHash', 'sourceHash', 'envVersion'] as const),
    ])
    .where(isAmong(db, 'id', ids))
})

interface ProjectsParameter {
  projectId?: string
  list?: string
}

/** The parameter of a query about one project, or about a list of projects. */
const projectsParameter = (ids: readonly string[]): ProjectsParameter =>
  ids.length === 1 ? { projectId: ids[0]! } : { list: idListText(ids) }

const readSummaryRows = (db: Db, projectIds: readonly string[]): Awaitable<readonly SummaryRow[]> =>
  projectIds.length === 0 ? [] : summaryQuery.all(db, projectsParameter(projectIds))

const summariesFrom = memoizeByRows((rows: readonly SummaryRow[]) => {
  const summaries = new Map<string, DeploymentSummary>()
  for (const [projectId, projectRows] of groupRows(rows, (row) => row.projectId)) summaries.set(projectId, summaryOf(projectRows))
  return summaries
})

const summaryOf = memoizeByRows((rows: readonly SummaryRow[]): DeploymentSummary => {
  const newest = rows.reduce((best, row) => (row.number > best.number ? row : best))
  const live = rows.find(({ status }) => status === 'live')
  return { newest: summaryFields(newest), live: live ? summaryFields(live) : null }
})

type SummaryRow = Pick<
  DeploymentRow,
  | 'id'
  | 'projectId'
  | 'number'
  | 'status'
  | 'errorMessage'
  | 'commitSha'
  | 'artifacts'
  | 'sizeBytes'
  | 'finishedAt'
  | 'configHash'
  | 'resourcesHash'
  | 'sourceHash'
  | 'envVersion'
>

function summaryFields(row: SummaryRow): DeploymentFacts {
  return {
    id: row.id,
    number: row.number,
    status: row.status,
    error: row.errorMessage,
    commit: row.commitSha,
    sizeBytes: row.sizeBytes,
    builtAt: row.artifacts && row.finishedAt !== null ? new Date(row.finishedAt).toISOString() : null,
    settings: {
      configHash: row.configHash,
      resourcesHash: row.resourcesHash,
      sourceHash: row.sourceHash,
      envVersion: row.envVersion,
    },
  }
}

/** Runtime queries of the projects module. */
export const runningProjects = (deps: DeploymentsDeps): RunningProjects => ({
  driverFor: (serverId) => deps.runtimes.for(serverId).kind,
  states: (projectIds) => thenSync(readStateRows(deps.database.db, projectIds), statesFrom),
})

/** State of production, with the number of instances. */
const stateRows = (db: Db) =>
  db
    .selectFrom('liveEnvironments')
    .select((eb) => [
      'projectId',
      'state',
      'health',
      'healthReason',
      'changedAt',
      'serviceRoutes',
      'services',
      eb
        .selectFrom('instances')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .whereRef('instances.projectId', '=', 'liveEnvironments.projectId')
        .where('instances.environment', '=', production)
        .where('instances.state', '=', 'running')
        .as('instances'),
    ])
    .where('environment', '=', production)

const stateQuery = preparedQuery<ProjectsParameter, StateRow>((db, { projectId, list }) =>
  list === undefined ? stateRows(db).where('projectId', '=', projectId!) : stateRows(db).where(isInIdList(db, 'projectId', list)),
)

const readStateRows = (db: Db, projectIds: readonly string[]): Awaitable<readonly StateRow[]> =>
  projectIds.length === 0 ? [] : stateQuery.all(db, projectsParameter(projectIds))

type StateRow = Pick<
  LiveEnvironmentRow,
  'projectId' | 'state' | 'health' | 'healthReason' | 'changedAt' | 'serviceRoutes' | 'services'
> & { instances: number | null }

const statesFrom = memoizeByRows((rows: readonly StateRow[]) => new Map(rows.map((row) => [row.projectId, stateOf(row)])))

const stateOf = memoizeByRows(runningState)

function runningState(row: StateRow): RunningState {
  const { state, health, healthReason, changedAt, instances } = row
  const serviceRoutes = liveEnvironmentJson.serviceRoutes(row)
  const states = servicesIn(row)
  const displayedState =
    state === 'live' ? (health === 'unhealthy' ? 'unhealthy' : 'running') : state === 'stopped' ? 'stopped' : 'sleeping'
  return {
    state: displayedState,
    reason: healthReason ?? (state === 'live' ? failingServicesText(states) : null),
    services: showStates(states, state),
    startedAt: new Date(changedAt).toISOString(),
    instances: Number(instances ?? 0),
    ...(serviceRoutes === null ? {} : { serviceRoutes }),
  }
}
