import { isIP } from 'node:net'
import type { ProjectRoute, ServiceRoutes } from '@berth/contract'
import { projectJson } from '../../../platform/db/json-columns/projects.ts'
import type { ServiceRoute } from '../../../platform/db/tables/deployments.ts'
import type { DomainRow, ProjectRow } from '../../../platform/db/tables/projects.ts'
import type { ProjectsDeps } from '../deps.ts'
import type { EdgeRoutes, RouteStatus } from '../project-ports.ts'

/** Host names and URLs of projects. The project record, the edge and the domain checks all use these functions, so they agree. */

/** The free host name, which a project has from the start and keeps as long as its slug is unchanged. */
export const freeHostname = ({ slug }: Pick<ProjectRow, 'slug'>, baseDomain: string): string => `${slug}.${baseDomain}`

/** The environment is a label in front of the project's host name, so it can never equal another project's free host name. */
export const environmentHostname = (project: Pick<ProjectRow, 'slug'>, environment: string, baseDomain: string): string =>
  environment === 'production' ? freeHostname(project, baseDomain) : `${environment}.${freeHostname(project, baseDomain)}`

/** The service is one more label in front of the environment's host name. */
export const serviceHostname = (label: string, environmentHost: string): string => `${label}.${environmentHost}`

/**
 * The same address as one label below the base domain, which a wildcard certificate covers: `pr-7.shop.apps.example.com` is
 * `pr-7--shop.apps.example.com`. Null where it has one label already, or the label would be ambiguous, reserved in DNS or too long.
 */
export function aliasHostname(hostname: string, baseDomain: string): string | null {
  if (hostname === baseDomain || !isWithinDomain(hostname, baseDomain)) return null
  const labels = hostname.slice(0, -baseDomain.length - 1).split('.')
  const alias = labels.join(aliasSeparator)
  const isReserved = alias.slice(2, 4) === '--'
  if (labels.length === 1 || labels.some((label) => label.includes(aliasSeparator)) || isReserved) return null
  return alias.length > longestLabel ? null : `${alias}.${baseDomain}`
}

const aliasSeparator = '--'
const longestLabel = 63

/** Slugs of projects whose environments could have the slug's free host name as their alias. */
export const slugsBehindAlias = (slug: string): string[] => {
  const labels = slug.split(aliasSeparator)
  return labels.slice(1).map((_, at) => labels.slice(at + 1).join(aliasSeparator))
}

/**
 * Routes of services that the settings have not switched off. A switched-off service is not served from that moment on, also if
 * the live deployment still has a route for it.
 */
export const enabledServiceRoutes = (
  routes: readonly ServiceRoute[],
  project: Pick<ProjectRow, 'serviceRoutes'>,
): readonly ServiceRoute[] => {
  const routeSettings: ServiceRoutes = projectJson.serviceRoutes(project) ?? {}
  return routes.filter(({ service }) => !Object.hasOwn(routeSettings, service) || routeSettings[service])
}

export const isWithinDomain = (hostname: string, domain: string): boolean =>
  hostname === domain || hostname.endsWith(`.${domain}`)

/** The host name at which the instance itself answers; projects cannot use it. */
export function instanceHostname(publicUrl: string): string | null {
  const hostname = URL.parse(publicUrl)?.hostname ?? ''
  return hostname && !isAddress(hostname) ? hostname.toLowerCase() : null
}

/** Whether the slug's free host name would be the instance's own. */
export const isInstanceSlug = (slug: string, { settings, publicUrl }: Pick<ProjectsDeps, 'settings' | 'publicUrl'>): boolean =>
  freeHostname({ slug }, settings.baseDomain) === instanceHostname(publicUrl())

export const isAddress = (hostname: string): boolean => isIP(hostname.replace(/^\[|\]$/g, '')) !== 0

export type UrlSettings = { ports: { http: number; https: number | null } }

/** The ports that the edge listens on; those of the settings until the edge has started. */
export const urlSettings = ({ projectPorts, settings }: Pick<ProjectsDeps, 'projectPorts' | 'settings'>): UrlSettings => ({
  ports: projectPorts.edge?.ports() ?? { http: settings.edgePort, https: settings.edgeTlsPort },
})

export function urlOf(hostname: string, tls: RouteStatus['tls'], { ports }: UrlSettings): string {
  if (tls === 'active' && ports.https !== null) return `https://${hostname}${ports.https === 443 ? '' : `:${ports.https}`}`
  return `http://${hostname}${ports.http === 80 ? '' : `:${ports.http}`}`
}

export interface RouteFacts {
  domains: readonly DomainRow[]
  /** Service routes of production. */
  services?: readonly ServiceRoute[]
  edge: Pick<EdgeRoutes, 'routeStatus' | 'aliasOf'> | undefined
  baseDomain: string
  urls: UrlSettings
}

export const notSynced = {
  tls: 'none',
  state: 'pending',
  reason: 'Not served yet. An address works once a version is live',
} as const satisfies RouteStatus

/**
 * The free route first, then service routes, then the project's own domains. A worker answers no requests, so it has no free
 * route.
 */
export function routesOf(project: Pick<ProjectRow, 'slug' | 'type' | 'serviceRoutes'>, facts: RouteFacts): ProjectRoute[] {
  const { domains, services = [], edge, baseDomain, urls } = facts
  const hostname = freeHostname(project, baseDomain)
  const freeStatus = edge?.routeStatus(hostname) ?? notSynced
  const hasPrimary = domains.some(({ isPrimary }) => isPrimary)
  const routes: ProjectRoute[] =
    project.type === 'worker'
      ? []
      : [{ hostname, url: urlOf(hostname, freeStatus.tls, urls), kind: 'free', primary: !hasPrimary, ...freeStatus }]
  for (const { service, label } of enabledServiceRoutes(services, project)) {
    const dottedName = serviceHostname(label, hostname)
    const serviceHost = edge?.aliasOf(dottedName) ?? dottedName
    const status = edge?.routeStatus(serviceHost) ?? notSynced
    routes.push({
      hostname: serviceHost,
      url: urlOf(serviceHost, status.tls, urls),
      kind: 'free',
      primary: false,
      service,
      ...status,
    })
  }
  for (const domain of domains) {
    const status = edge?.routeStatus(domain.hostname, domain) ?? domainStatus(domain)
    const url = urlOf(domain.hostname, status.tls, urls)
    routes.push({ hostname: domain.hostname, url, kind: 'custom', primary: domain.isPrimary === 1, ...status })
  }
  return routes
}

/** The URL that works now: the primary domain once it is verified and served, else the free host name. */
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
