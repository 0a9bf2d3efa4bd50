import type { EdgeHost, EdgeRule, EdgeTable, EdgeTarget } from '../../edge-proxy/protocol/edge-table.ts'
import type { InstanceRow, LiveEnvironmentRow } from '../../platform/db/tables/deployments.ts'
import type { DomainRow, ProjectRow, RouteRuleRow } from '../../platform/db/tables/projects.ts'
import type { ListenerOwner } from '../../platform/listener/listener-owner.ts'
import { environmentHostname } from '../projects/index.ts'

/** Everything that decides what the edge serves. */
export interface TableFacts {
  version: number
  baseDomain: string
  projects: readonly Pick<ProjectRow, 'id' | 'slug' | 'enabled' | 'type' | 'framework' | 'webhookDomain'>[]
  live: readonly LiveEnvironmentRow[]
  /** Running and exposed. */
  instances: readonly InstanceRow[]
  /** Those that are served. */
  domains: readonly DomainRow[]
  rules: readonly RouteRuleRow[]
  certificates: Record<string, { cert: string; key: string }>
  challenges: Record<string, string>
  trustedProxies: readonly string[]
  servesTls: boolean
  control: { host: string; port: number; key: string } | null
}

/**
 * The whole table, from rows alone: what the database says is what is served. A project whose rows cannot be read is left
 * out, and stops nobody else.
 */
export function edgeTable(facts: TableFacts): { table: EdgeTable; unreadable: Map<string, string> } {
  const hosts: Record<string, EdgeHost> = {}
  const unreadable = new Map<string, string>()
  const rulesOf = Map.groupBy(facts.rules, ({ projectId }) => projectId)
  const domainsOf = Map.groupBy(facts.domains, ({ projectId }) => projectId)
  const liveOf = Map.groupBy(facts.live, ({ projectId }) => projectId)
  const instancesOf = Map.groupBy(facts.instances, ({ deploymentId }) => deploymentId)
  for (const project of facts.projects) {
    for (const live of liveOf.get(project.id) ?? []) {
      const names = [environmentHostname(project, live.environment, facts.baseDomain)]
      if (live.environment === 'production') names.push(...(domainsOf.get(project.id) ?? []).map(({ hostname }) => hostname))
      try {
        const rules = (rulesOf.get(project.id) ?? []).map(edgeRule)
        const target = targetOf(project, live, instancesOf.get(live.deploymentId ?? '') ?? [])
        for (const hostname of names) {
          const redirectToHttps = facts.servesTls && hostname in facts.certificates
          const { environment } = live
          hosts[hostname] = { target, rules, environment, ...(redirectToHttps ? { redirectToHttps } : {}) }
        }
      } catch (error) {
        for (const hostname of names) unreadable.set(hostname, (error as Error).message)
      }
    }
  }
  const { version, certificates, challenges, trustedProxies } = facts
  const rest = { certificates, challenges, trustedProxies: [...trustedProxies], ...deliveriesOf(facts, domainsOf) }
  return { table: { version, hosts, ...rest }, unreadable }
}

/** Also where nothing was deployed yet: the first push is to arrive, too. A name that is another's by now takes nothing. */
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

function targetOf(
  project: TableFacts['projects'][number],
  live: LiveEnvironmentRow,
  instances: readonly InstanceRow[],
): EdgeTarget {
  const projectId = project.id
  const deploymentId = live.deploymentId ?? ''
  if (!project.enabled || live.state === 'stopped') return { kind: 'disabled', projectId }
  if (live.state === 'sleeping' || live.state === 'waking') return { kind: 'sleeping', projectId }
  if (live.staticFolder) return { kind: 'static', projectId, deploymentId, folder: live.staticFolder, spa: isSinglePage(project) }
  // One that is being restarted is nowhere for a moment; that is no answer, and no failed deployment.
  const upstreams = instances.flatMap(({ id, host, port, listener }) =>
    host && port ? [{ id, host, port, ...(listener ? { listener: JSON.parse(listener) as ListenerOwner } : {}) }] : [],
  )
  return instances.length > 0 ? { kind: 'upstreams', projectId, deploymentId, upstreams } : { kind: 'failed', projectId }
}

/** Frameworks whose build is one page that routes in the browser. */
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
    config: JSON.parse(row.config),
  } as EdgeRule
}
