import type { Db } from '../../../platform/db/schema.ts'
import type { DeploymentRow } from '../../../platform/db/tables/deployments.ts'
import { projectsOf, type ReservedReader } from '../../projects/index.ts'
import { planOf } from './deployed.ts'

/** CPU and memory reserved by deployments that serve or are in progress. */
export const reservedReader: ReservedReader = {
  async planned(db, organizationId) {
    const rows = await deploymentsOf(db, organizationId)
      .select(['id', 'projectId', 'environment', 'plan'])
      .where('status', 'in', ['building', 'deploying', 'live'])
      .where('plan', 'is not', null)
      .execute()
    return rows.map((row) => ({ projectId: row.projectId, environment: row.environment, ...reservedBy(row) }))
  },
  async building(db, organizationId) {
    const { count } = await deploymentsOf(db, organizationId)
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('status', 'in', ['building', 'deploying'])
      .executeTakeFirstOrThrow()
    return Number(count)
  },
}

const deploymentsOf = (db: Db, organizationId: string) =>
  db.selectFrom('deployments').where('projectId', 'in', projectsOf(db, organizationId))

function reservedBy(deployment: Pick<DeploymentRow, 'id' | 'plan'>): { cpuCores: number; memoryMb: number } {
  const { type, units } = planOf(deployment)
  const running = type === 'static' ? [] : units
  return {
    cpuCores: running.reduce((sum, { allotment: resources, replicas = 1 }) => sum + resources.cpuCores * replicas, 0),
    memoryMb: running.reduce((sum, { allotment: resources, replicas = 1 }) => sum + resources.memoryMb * replicas, 0),
  }
}
