import type { AdoptBody, Service } from '@berth/contract'
import { type AdoptedService, adoptService } from './adopted-service.ts'
import { chooseServices } from './chosen-services.ts'
import type { Discovery } from './discover.ts'
import { type NamedService, nameServices } from './service-names.ts'

export interface Adoption {
  serverId: string
  parts: { named: NamedService; adopted: AdoptedService }[]
  renamed: Record<string, string>
  warnings: string[]
}

/** What would be adopted, from what was found on the server just now. */
export function adoptionOf(
  { serverId, serviceNames }: AdoptBody,
  discovery: Discovery,
  adoptedBy: ReadonlyMap<string, string>,
): Adoption {
  const { services, renamed } = nameServices(chooseServices(serviceNames, discovery, adoptedBy))
  const names = new Set(services.map(({ name }) => name))
  const parts = services.map((named) => ({
    named,
    adopted: adoptService(named, discovery.docker.images.get(named.container.imageId), names),
  }))
  exposeOne(parts.map(({ adopted }) => adopted.service))
  return { serverId, parts, renamed, warnings: parts.flatMap(({ adopted }) => adopted.warnings) }
}

/** Requests go to one service: the first that had port 80 or 443 of the server. */
function exposeOne(services: Service[]): void {
  const first = services.find(({ exposed }) => exposed)
  for (const service of services) service.exposed = service === first
}
