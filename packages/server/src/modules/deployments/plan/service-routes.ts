import type { Service, ServiceRoutes } from '@berth/contract'
import type { ServiceRoute } from '../../../platform/db/tables/deployments.ts'

/** What of a unit decides where it is reached. */
interface Reached {
  service: string
  exposed: boolean
  route?: string
  port: number | null
}

const labelLength = 63

/** What a service is called in a host name, where underscores and capitals are not; '' where nothing of its name is left. */
export const hostLabel = (service: string): string =>
  service
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, labelLength)
    .replace(/^-+|-+$/g, '')

/**
 * The services that have an address of their own, beside the one that the project's goes to: what the settings say of each, else what it
 * says itself. Of two whose names are the same in a host name the first has it.
 */
export function routeLabels(
  services: readonly Service[],
  exposed: Service | undefined,
  chosen: ServiceRoutes,
): ReadonlyMap<string, string> {
  const labels = new Map<string, string>()
  const taken = new Set<string>()
  for (const service of services) {
    const isWanted = Object.hasOwn(chosen, service.name) ? chosen[service.name] : (service.route ?? service.exposed)
    const label = hostLabel(service.name)
    if (service === exposed || !isWanted || !service.ports?.length || label === '' || taken.has(label)) continue
    taken.add(label)
    labels.set(service.name, label)
  }
  return labels
}

/** What was asked for by name and is not there, so that nobody looks for it in vain. */
export function routeWarnings(chosen: ServiceRoutes, units: readonly Reached[]): string[] {
  return Object.entries(chosen).flatMap(([name, isWanted]) => {
    const unit = units.find(({ service }) => service === name)
    if (!isWanted || unit?.exposed || unit?.route) return []
    if (!unit) return [`serviceRoutes: there is no service ${name}`]
    return [
      unit.port === null
        ? `serviceRoutes: ${name} has no port, so it cannot be reached: give it one in ports`
        : `serviceRoutes: another service has the host name of ${name} already`,
    ]
  })
}

/** As an environment keeps them while it serves, null for none. Names of the project's other environments are theirs. */
export function servedRoutes(units: readonly Reached[], environments: readonly string[]): ServiceRoute[] | null {
  const routes = units.flatMap(({ service, route }) =>
    route && !environments.includes(route) ? [{ service, label: route }] : [],
  )
  return routes.length > 0 ? routes : null
}
