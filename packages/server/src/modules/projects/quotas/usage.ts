import type { Db } from '../../../platform/db/schema.ts'
import type { ProjectPorts } from '../project-ports.ts'
import { addClaims, configuredClaim, maxClaim, noClaim, type ResourceClaim } from './claims.ts'

export interface Usage extends ResourceClaim {
  projects: number
}

/** Usage of an organisation: its projects, and the most that each of their environments may use at once. */
export async function usageOf(db: Db, organizationId: string, { reserved }: ProjectPorts): Promise<Usage> {
  const projects = await db
    .selectFrom('projects')
    .select(['id', 'type', 'resources', 'services', 'enabled'])
    .where('organizationId', '=', organizationId)
    .where('deletingSince', 'is', null)
    // Projects that are being moved here count too: otherwise concurrent moves would together exceed the quota.
    .where('presence', '!=', 'departed')
    .execute()
  const environments = await db
    .selectFrom('environments')
    .innerJoin('projects', 'projects.id', 'environments.projectId')
    .select(['environments.projectId', 'environments.slug'])
    .where('projects.organizationId', '=', organizationId)
    .where('environments.deletingSince', 'is', null)
    .execute()
  const planned = new Map<string, ResourceClaim>()
  for (const { projectId, environment, ...claim } of (await reserved?.planned(db, organizationId)) ?? []) {
    const key = `${projectId} ${environment}`
    planned.set(key, maxClaim(claim, planned.get(key) ?? noClaim))
  }
  const byId = new Map(projects.map((project) => [project.id, project]))
  const claims = environments.flatMap(({ projectId, slug }) => {
    const project = byId.get(projectId)
    if (!project?.enabled) return []
    return [maxClaim(configuredClaim(project), planned.get(`${projectId} ${slug}`) ?? noClaim)]
  })
  return { projects: projects.length, ...claims.reduce(addClaims, noClaim) }
}
