import { isIP } from 'node:net'
import type { ProjectRoute, ServiceRoutes } from '@berth/contract'
import type { ServiceRoute } from '../../../platform/db/tables/deployments.ts'
import type { DomainRow, ProjectRow } from '../../../platform/db/tables/projects.ts'
import type { ProjectsDeps } from '../deps.ts'
import type { EdgeRoutes, RouteStatus } from '../project-ports.ts'

/** Host names and URLs of projects, said in one place: the record, the edge and the checks must not disagree. */

/** The free host name, which a project has from the start and keeps for as long as it keeps its slug. */
export const freeHostname = ({ slug }: Pick<ProjectRow, 'slug'>, baseDomain: string): string => `${slug}.${baseDomain}`

/** A label in front of the project's own name, so that no other project's slug can ever be the same host. */
export const environmentHostname = (project: Pick<ProjectRow, 'slug'>, environment: string, baseDomain: string): string =>
  environment === 'production' ? freeHostname(project, baseDomain) : `${environment}.${freeHostname(project, baseDomain)}`

/** One more label in front, which is the service's. */
export const serviceHostname = (label: string, environmentHost: string): string => `${label}.${environmentHost}`

/** What the settings switched off is not served from that moment on, whatever the deployment had. */
export const routesLeft = (
  routes: readonly ServiceRoute[],
  { serviceRoutes }: Pick<ProjectRow, 'serviceRoutes'>,
): readonly ServiceRoute[] => {
  const chosen: ServiceRoutes = serviceRoutes === null ? {} : JSON.parse(serviceRoutes)
  return routes.filter(({ service }) => !Object.hasOwn(chosen, service) || chosen[service])
}

export const isBelow = (hostname: string, domain: string): boolean => hostname === domain || hostname.endsWith(`.${domain}`)

/** The host that the instance itself answers at: no project may take it. */
export function instanceHostname(publicUrl: string): string | null {
  const hostname = URL.parse(publicUrl)?.hostname ?? ''
  return hostname && !isAddress(hostname) ? hostname.toLowerCase() : null
}

/** True for the slug whose free host name would be the instance's own. */
export const isInstanceSlug = (slug: string, { settings, publicUrl }: Pick<ProjectsDeps, 'settings' | 'publicUrl'>): boolean =>
  freeHostname({ slug }, settings.baseDomain) === instanceHostname(publicUrl())

export const isAddress = (hostname: string): boolean => isIP(hostname.replace(/^\[|\]$/g, '')) !== 0

export type UrlSettings = { ports: { http: number; https: number | null } }

/** Until the edge says where it listens, the settings do. */
export const urlSettings = ({ projectPorts, settings }: Pick<ProjectsDeps, 'projectPorts' | 'settings'>): UrlSettings => ({
  ports: projectPorts.edge?.ports() ?? { http: settings.edgePort, https: settings.edgeTlsPort },
})

export function urlOf(hostname: string, tls: RouteStatus['tls'], { ports }: UrlSettings): string {
  if (tls === 'active' && ports.https !== null) return `https://${hostname}${ports.https === 443 ? '' : `:${ports.https}`}`
  return `http://${hostname}${ports.http === 80 ? '' : `:${ports.http}`}`
}

export interface RouteFacts {
  domains: readonly DomainRow[]
  /** Of production. */
  services?: readonly ServiceRoute[]
  edge: Pick<EdgeRoutes, 'routeStatus'> | undefined
  baseDomain: string
  urls: UrlSettings
}

export const notTaken = {
  tls: 'none',
  state: 'pending',
  reason: 'The edge has not taken this route yet',
} as const satisfies RouteStatus

/** The free route first, then those of services, then the project's own domains. A worker answers no requests, so it has no free route. */
export function routesOf(project: Pick<ProjectRow, 'slug' | 'type' | 'serviceRoutes'>, facts: RouteFacts): ProjectRoute[] {
  const { domains, services = [], edge, baseDomain, urls } = facts
  const hostname = freeHostname(project, baseDomain)
  const free = edge?.routeStatus(hostname) ?? notTaken
  const hasPrimary = domains.some(({ isPrimary }) => isPrimary)
  const routes: ProjectRoute[] =
    project.type === 'worker'
      ? []
      : [{ hostname, url: urlOf(hostname, free.tls, urls), kind: 'free', primary: !hasPrimary, ...free }]
  for (const { service, label } of routesLeft(services, project)) {
    const own = serviceHostname(label, hostname)
    const standing = edge?.routeStatus(own) ?? notTaken
    routes.push({ hostname: own, url: urlOf(own, standing.tls, urls), kind: 'free', primary: false, service, ...standing })
  }
  for (const domain of domains) {
    const standing = edge?.routeStatus(domain.hostname, domain) ?? domainStatus(domain)
    const url = urlOf(domain.hostname, standing.tls, urls)
    routes.push({ hostname: domain.hostname, url, kind: 'custom', primary: domain.isPrimary === 1, ...standing })
  }
  return routes
}

/** The address that works now: the primary domain once it is verified and served, else the free one. */
export function workingUrl(routes: readonly ProjectRoute[], domains: readonly DomainRow[]): string | null {
  const primary = routes.find((route) => route.primary)
  if (!primary || primary.kind === 'free') return primary?.url ?? null
  const isVerified = domains.some(({ hostname, provenAt }) => hostname === primary.hostname && provenAt !== null)
  if (isVerified && primary.state === 'synced') return primary.url
  return routes.find(({ kind, service }) => kind === 'free' && service === undefined)?.url ?? null
}

export const domainStatus = ({ tls, state, reason }: DomainRow): RouteStatus => ({
  tls,
  state,
  ...(reason ? { reason } : {}),
})
