import type { Service, ServiceRoutes } from '@berth/contract'
import type { ServiceRoute } from '../../../platform/db/tables/deployments.ts'

/** The fields of a unit that determine its host names. */
interface RoutedUnit {
  service: string
  exposed: boolean
  route?: string
  port: number | null
}

const maxLabelLength = 63

/** Host name label of a service: lower case, other characters replaced by hyphens; '' where no character is left. */
export const hostLabel = (service: string): string =>
  service
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, maxLabelLength)
    .replace(/^-+|-+$/g, '')

/**
 * Labels of the services with a host name of their own, besides the main service. The project's settings take precedence over
 * the source. If two services have the same label, the first one gets it.
 */
export function routeLabels(
  services: readonly Service[],
  mainService: Service | undefined,
  chosen: ServiceRoutes,
): ReadonlyMap<string, string> {
  const labels = new Map<string, string>()
  const usedLabels = new Set<string>()
  for (const service of services) {
    const isRouted = Object.hasOwn(chosen, service.name) ? chosen[service.name] : (service.route ?? service.exposed)
    const label = hostLabel(service.name)
    if (service === mainService || !isRouted || !service.ports?.length || label === '' || usedLabels.has(label)) continue
    usedLabels.add(label)
    labels.set(service.name, label)
  }
  return labels
}

/** Warns about configured service routes that cannot be served. */
export function routeWarnings(chosen: ServiceRoutes, units: readonly RoutedUnit[]): string[] {
  return Object.entries(chosen).flatMap(([name, isRouted]) => {
    const unit = units.find(({ service }) => service === name)
    if (!isRouted || unit?.exposed || unit?.route) return []
    if (!unit) return [`serviceRoutes: service ${name} does not exist`]
    if (unit.port === null) return [`serviceRoutes: ${name} has no port and is not reachable. Set one in ports.`]
    return hostLabel(name) === ''
      ? [`serviceRoutes: the name ${name} has no letter or digit, so it cannot be part of a host name. Rename the service.`]
      : [`serviceRoutes: the host name of ${name} is already used by another service`]
  })
}

/**
 * The service routes to store for a live environment; null for none. A label that is also the slug of an environment is left to
 * that environment.
 */
export function routesToStore(units: readonly RoutedUnit[], environments: readonly string[]): ServiceRoute[] | null {
  const routes = units.flatMap(({ service, route }) =>
    route && !environments.includes(route) ? [{ service, label: route }] : [],
  )
  return routes.length > 0 ? routes : null
}
