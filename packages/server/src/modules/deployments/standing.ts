import type { DeploymentRow } from '../../db/tables/deployments.ts'
import type { DeploymentFacts, DeploymentReader, DeploymentStanding, ProjectRuntime, RunningState } from '../projects/index.ts'
import type { DeploymentsDeps } from './deps.ts'
import { bringOnline, takeOffline } from './power.ts'
import { imageOf, showDeployment } from './show.ts'
import { listDeployments, listInstances, listLive } from './store.ts'

const production = 'production'

/** What the projects module asks about deployments. */
export const deploymentReader = ({ database: { db } }: DeploymentsDeps): DeploymentReader => ({
  async standings(projectIds) {
    const standings = new Map<string, DeploymentStanding>()
    if (projectIds.length === 0) return standings
    const newest = await db
      .selectFrom('deployments')
      .selectAll()
      .where((eb) =>
        eb(
          'number',
          '=',
          eb
            .selectFrom('deployments as other')
            .select(({ fn }) => fn.max<number>('other.number').as('number'))
            .whereRef('other.projectId', '=', 'deployments.projectId')
            .where('other.environment', '=', production),
        ),
      )
      .where('projectId', 'in', [...projectIds])
      .execute()
    const live = await db
      .selectFrom('deployments')
      .selectAll()
      .where('projectId', 'in', [...projectIds])
      .where('environment', '=', production)
      .where('status', '=', 'live')
      .execute()
    const liveOf = new Map(live.map((row) => [row.projectId, row]))
    for (const row of newest) {
      const serving = liveOf.get(row.projectId)
      standings.set(row.projectId, { newest: facts(row), live: serving ? facts(serving) : null })
    }
    return standings
  },
  async list(projectId, query) {
    const { rows, nextCursor } = await listDeployments(db, null, { ...query, projectId })
    return { data: rows.map(showDeployment), nextCursor }
  },
  async newest(projectId) {
    const { rows } = await listDeployments(db, null, { projectId, limit: 1 })
    return rows[0] ? { id: rows[0].id, status: rows[0].status } : null
  },
})

function facts(row: DeploymentRow): DeploymentFacts {
  return {
    id: row.id,
    number: row.number,
    status: row.status,
    error: row.errorMessage,
    commit: row.commitSha,
    image: imageOf(row),
    sizeBytes: row.sizeBytes,
    builtAt: row.artifacts && row.finishedAt !== null ? new Date(row.finishedAt).toISOString() : null,
  }
}

/** What the projects module asks of what runs. */
export const projectRuntime = (deps: DeploymentsDeps): ProjectRuntime => ({
  driver: deps.runtime.kind,
  async states(projectIds) {
    const live = (await listLive(deps.database.db, projectIds)).filter(({ environment }) => environment === production)
    const states = new Map<string, RunningState>()
    for (const row of live) {
      const instances = await listInstances(deps.database.db, {
        projectId: row.projectId,
        environment: production,
        state: 'running',
      })
      const state =
        row.state === 'sleeping' || row.state === 'waking'
          ? 'sleeping'
          : row.state === 'stopped'
            ? 'stopped'
            : row.health === 'unhealthy'
              ? 'unhealthy'
              : 'running'
      states.set(row.projectId, {
        state,
        reason: row.healthReason,
        startedAt: new Date(row.changedAt).toISOString(),
        instances: instances.length,
      })
    }
    return states
  },
  takeOffline: (projectId) => takeOffline(projectId, deps),
  bringOnline: (projectId) => bringOnline(projectId, deps),
})
