import type { Resources, Service } from '@berth/contract'
import type { ProjectRow } from '../../../platform/db/tables/projects.ts'

/** What something may use of the machine at once. */
export interface Claim {
  cpuCores: number
  memoryMb: number
}

export const noClaim: Claim = { cpuCores: 0, memoryMb: 0 }

/** Cores are given in hundredths, and added as such. */
export const add = (one: Claim, other: Claim): Claim => ({
  cpuCores: Math.round((one.cpuCores + other.cpuCores) * 100) / 100,
  memoryMb: one.memoryMb + other.memoryMb,
})

/** Of one environment: what is planned there may be more than its settings say, as long as it is there. */
export const larger = (one: Claim, other: Claim): Claim => ({
  cpuCores: Math.max(one.cpuCores, other.cpuCores),
  memoryMb: Math.max(one.memoryMb, other.memoryMb),
})

type Configured = Pick<ProjectRow, 'type' | 'resources' | 'services' | 'enabled'>

/** What the settings give to each environment of a project. Nothing runs of one that is disabled, and of plain pages. */
export function configuredClaim({ type, resources, services, enabled }: Configured): Claim {
  if (!enabled || type === 'static') return noClaim
  const { production } = JSON.parse(resources) as Pick<Resources, 'production'>
  const named = type === 'services' ? (JSON.parse(services) as Service[]) : []
  if (named.length === 0) return { cpuCores: production.cpuCores, memoryMb: production.memoryMb }
  return named
    .map((service) => ({ cpuCores: service.cpuCores ?? production.cpuCores, memoryMb: service.memoryMb ?? production.memoryMb }))
    .reduce(add, noClaim)
}
