import type { EdgeHost, EdgeRule, EdgeTable, EdgeTarget } from '../../edge-proxy/protocol/edge-table.ts'
import { findCertificate } from '../../edge-proxy/protocol/find-certificate.ts'
import { instanceJson, liveEnvironmentJson } from '../../platform/db/json-columns/deployments.ts'
import { routeRuleJson } from '../../platform/db/json-columns/projects.ts'
import type { InstanceRow, LiveEnvironmentRow, ServiceRoute } from '../../platform/db/tables/deployments.ts'
import type { DomainRow, ProjectRow, RouteRuleRow } from '../../platform/db/tables/projects.ts'
import type { AssignedHostnameRow } from '../../platform/db/tables/routing.ts'
import { aliasHostname, enabledServiceRoutes, environmentHostname, serviceHostname } from '../projects/index.ts'

/** The rows from which the routing table is computed. */
export interface TableFacts {
  version: number
  baseDomain: string
  projects: readonly Pick<ProjectRow, 'id' | 'slug' | 'enabled' | 'type' | 'framework' | 'serviceRoutes' | 'webhookDomain'>[]
  live: readonly LiveEnvironmentRow[]
  /** Restores and moves that have stopped a project. */
  pauses: readonly { projectId: string; kind: 'restore' | 'move' }[]
  /** Running instances that are exposed or have a service route. */
  instances: readonly InstanceRow[]
  /** The domains that are served. */
  domains: readonly DomainRow[]
  rules: readonly RouteRuleRow[]
  certificates: Record<string, { cert: string; key: string }>
  challenges: Record<string, string>
  trustedProxies: readonly string[]
  servesTls: boolean
  control: { host: string; port: number; key: string } | null
  /** The host name of the dashboard; null: the edge does not serve it. */
  dashboard: string | null
  /** Whether one certificate covers the free addresses: then every address has an alias of one label. */
  hasWildcard: boolean
  /** Names without a domain row whose certificate was requested. */
  assigned: ReadonlyMap<string, AssignedHostnameRow>
  /** Whether a certificate is ordered when the host is first used. */
  isAssigned(hostname: string): boolean
}

export interface EdgeTableOfRows {
  table: EdgeTable
  unreadable: Map<string, string>
  /** Host names to their aliases. */
  aliases: Map<string, string>
}

/** Computes the whole table from rows. A project whose rows cannot be read is left out and does not affect the others. */
export function edgeTable(facts: TableFacts): EdgeTableOfRows {
  const hosts: Record<string, EdgeHost> = {}
  const unreadable = new Map<string, string>()
  const rulesOf = Map.groupBy(facts.rules, ({ projectId }) => projectId)
  const domainsOf = Map.groupBy(facts.domains, ({ projectId }) => projectId)
  const liveOf = Map.groupBy(facts.live, ({ projectId }) => projectId)
  const instancesOf = Map.groupBy(facts.instances, ({ projectId, environment }) => `${projectId}/${environment}`)
  const pauseOf = new Map(facts.pauses.map(({ projectId, kind }) => [projectId, kind]))
  const tlsOf = tlsFlags(facts)
  for (const project of facts.projects) {
    const pause = pauseOf.get(project.id)
    const environments = liveOf.get(project.id) ?? []
    const ownNames = new Set(environments.map(({ environment }) => environmentHostname(project, environment, facts.baseDomain)))
    for (const live of environments) {
      const { environment } = live
      const names = [environmentHostname(project, environment, facts.baseDomain)]
      if (environment === 'production') names.push(...(domainsOf.get(project.id) ?? []).map(({ hostname }) => hostname))
      try {
        const rules = (rulesOf.get(project.id) ?? []).map(edgeRule)
        const instances = instancesOf.get(`${project.id}/${environment}`) ?? []
        for (const [hostname, target, service] of targetsOf(project, live, { names, ownNames, instances, pause })) {
          hosts[hostname] = { target, rules, environment, ...(service ? { service } : {}), ...tlsOf(hostname) }
        }
      } catch (error) {
        for (const hostname of names) unreadable.set(hostname, (error as Error).message)
      }
    }
  }
  const { dashboard, control } = facts
  // A project that had the name before it became the dashboard's keeps it.
  if (dashboard && control && !hosts[dashboard])
    hosts[dashboard] = { target: { kind: 'control', ...control }, ...tlsOf(dashboard) }
  const aliases = facts.hasWildcard ? addAliases(hosts, facts, tlsOf) : new Map<string, string>()
  const { version, certificates, challenges, trustedProxies } = facts
  const rest = { certificates, challenges, trustedProxies: [...trustedProxies], ...deliveriesOf(facts, domainsOf) }
  return { table: { version, hosts, ...rest }, unreadable, aliases }
}

/** Adds the aliases of host names below the base domain. A name that is served already keeps its target. */
function addAliases(
  hosts: Record<string, EdgeHost>,
  { baseDomain }: TableFacts,
  tlsOf: ReturnType<typeof tlsFlags>,
): Map<string, string> {
  const aliases = new Map<string, string>()
  for (const [hostname, { redirectToHttps: _, requestCertificate: __, ...host }] of Object.entries(hosts)) {
    const alias = aliasHostname(hostname, baseDomain)
    if (alias === null || hosts[alias]) continue
    hosts[alias] = { ...host, rulesHostname: hostname, ...tlsOf(alias) }
    aliases.set(hostname, alias)
  }
  return aliases
}

/** Redirects http to https where a certificate exists; otherwise the first use of an assigned name orders one. */
function tlsFlags({ servesTls, certificates, assigned, isAssigned, version }: TableFacts) {
  const names = new Set(Object.keys(certificates))
  return (hostname: string): Pick<EdgeHost, 'redirectToHttps' | 'requestCertificate'> => {
    if (!servesTls) return {}
    if (findCertificate(names, hostname) !== undefined) return { redirectToHttps: true }
    const isOrderable = isAssigned(hostname) && (assigned.get(hostname)?.nextOrderAt ?? 0) <= version
    return isOrderable ? { requestCertificate: true } : {}
  }
}

/**
 * Host names that accept git host deliveries, even before the first deployment, so that the first push arrives. A host name that
 * another project has by now is skipped.
 */
function deliveriesOf(
  { projects, baseDomain, control }: TableFacts,
  domainsOf: ReadonlyMap<string, readonly DomainRow[]>,
): Pick<EdgeTable, 'deliveries'> {
  const hostnames = projects.flatMap((project) => {
    const { webhookDomain, id } = project
    if (webhookDomain === null) return []
    const isServed = domainsOf.get(id)?.some(({ hostname }) => hostname === webhookDomain)
    return isServed || webhookDomain === environmentHostname(project, 'production', baseDomain) ? [webhookDomain] : []
  })
  if (hostnames.length === 0 || !control) return {}
  const { key, ...to } = control
  return { deliveries: { hostnames, to, key } }
}

interface EnvironmentFacts {
  names: string[]
  ownNames: ReadonlySet<string>
  instances: readonly InstanceRow[]
  pause: 'restore' | 'move' | undefined
}

/** The target of each host name of an environment; its own host name comes first. */
function targetsOf(
  project: TableFacts['projects'][number],
  live: LiveEnvironmentRow,
  { names, ownNames, instances, pause }: EnvironmentFacts,
): HostTarget[] {
  const exposed = exposedIn(live, instances)
  const target = targetOf(project, live, exposed, pause)
  const services = enabledServiceRoutes(routesOf(live), project).map(
    ({ label, service }): HostTarget => [
      serviceHostname(label, names[0] as string),
      targetOf(project, live, serviceIn(live, service, instances), pause),
      service,
    ],
  )
  // An environment created later took the host name.
  const remaining = services.filter(([hostname]) => !ownNames.has(hostname))
  return [...names.map((hostname): HostTarget => [hostname, target, exposed[0]?.service || null]), ...remaining]
}

type HostTarget = [hostname: string, target: EdgeTarget, service: string | null]

const routesOf = (live: LiveEnvironmentRow): ServiceRoute[] => liveEnvironmentJson.serviceRoutes(live) ?? []

const exposedIn = ({ deploymentId }: LiveEnvironmentRow, instances: readonly InstanceRow[]) =>
  instances.filter((one) => one.exposed === 1 && one.deploymentId === deploymentId)

/** Instances of a service. A service that is kept for the next deployment belongs to the older one until that is retired. */
function serviceIn({ deploymentId }: LiveEnvironmentRow, service: string, instances: readonly InstanceRow[]): InstanceRow[] {
  const all = instances.filter((one) => one.service === service)
  const own = all.filter((one) => one.deploymentId === deploymentId)
  return own.length > 0 ? own : all
}

function targetOf(
  project: TableFacts['projects'][number],
  live: LiveEnvironmentRow,
  instances: readonly InstanceRow[],
  pause: EnvironmentFacts['pause'],
): EdgeTarget {
  const projectId = project.id
  const deploymentId = live.deploymentId ?? ''
  if (!project.enabled) return { kind: 'disabled', projectId }
  if (live.state === 'stopped') return { kind: 'paused', projectId, reason: pause ?? 'start' }
  if (live.state === 'sleeping' || live.state === 'waking') return { kind: 'sleeping', projectId }
  if (live.staticFolder) return { kind: 'static', projectId, deploymentId, folder: live.staticFolder, spa: isSinglePage(project) }
  // A restarting instance has no address for a moment; that is not a failed deployment.
  const upstreams = instances.flatMap((instance) => {
    const { id, host, port } = instance
    const listener = instanceJson.listener(instance)
    return host && port ? [{ id, host, port, ...(listener ? { listener } : {}) }] : []
  })
  return instances.length > 0 ? { kind: 'upstreams', projectId, deploymentId, upstreams } : { kind: 'failed', projectId }
}

/** Frameworks that build a single-page app with client-side routing. */
const singlePage = new Set(['vite', 'create-react-app', 'angular', 'vue-cli'])
const isSinglePage = ({ framework }: Pick<ProjectRow, 'framework'>) => framework !== null && singlePage.has(framework)

export function edgeRule(row: RouteRuleRow): EdgeRule {
  return {
    id: row.id,
    kind: row.kind,
    enabled: row.enabled === 1,
    pathPrefix: row.pathPrefix,
    hostname: row.hostname,
    dryRun: row.dryRun === 1,
    expiresAt: row.expiresAt === null ? null : new Date(row.expiresAt).toISOString(),
    config: routeRuleJson.config(row),
  } as EdgeRule
}
