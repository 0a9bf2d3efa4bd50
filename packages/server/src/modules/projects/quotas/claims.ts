import { projectJson } from '../../../platform/db/json-columns/projects.ts'
import type { ProjectRow } from '../../../platform/db/tables/projects.ts'

/** Maximum resources that a workload may use at once. */
export interface ResourceClaim {
  cpuCores: number
  memoryMb: number
}

export const noClaim: ResourceClaim = { cpuCores: 0, memoryMb: 0 }

/** Adds two claims. Cores have two decimals, so the sum is rounded to hundredths. */
export const addClaims = (one: ResourceClaim, other: ResourceClaim): ResourceClaim => ({
  cpuCores: Math.round((one.cpuCores + other.cpuCores) * 100) / 100,
  memoryMb: one.memoryMb + other.memoryMb,
})

/** The larger of an environment's two claims: a planned deployment may take more than its settings, as long as it exists. */
export const maxClaim = (one: ResourceClaim, other: ResourceClaim): ResourceClaim => ({
  cpuCores: Math.max(one.cpuCores, other.cpuCores),
  memoryMb: Math.max(one.memoryMb, other.memoryMb),
})

type Configured = Pick<ProjectRow, 'type' | 'resources' | 'services' | 'enabled'>

/** Resources that the settings give to each environment of a project; none for a disabled project or a static site. */
export function configuredClaim(project: Configured): ResourceClaim {
  const { type, enabled } = project
  if (!enabled || type === 'static') return noClaim
  const { production } = projectJson.resources(project)
  const services = type === 'services' ? projectJson.services(project) : []
  if (services.length === 0) return { cpuCores: production.cpuCores, memoryMb: production.memoryMb }
  return services
    .map((service) => ({ cpuCores: service.cpuCores ?? production.cpuCores, memoryMb: service.memoryMb ?? production.memoryMb }))
    .reduce(addClaims, noClaim)
}
