import {
  defaultLimits,
  type EdgeCertificate,
  type EdgeHost,
  type EdgeLimits,
  type EdgeTable,
  type EdgeTarget,
  type UpstreamsTarget,
} from '../drivers/edge/edge-table.ts'
import { AddressSet } from './address-set.ts'
import { Balance } from './balance.ts'
import { recordTail } from './request-records.ts'
import { type CompiledRule, compileRule, RuleSet } from './rules.ts'
import type { Account, Tallies } from './tallies.ts'
import { Upstream } from './upstream.ts'

/** A host's entry of the table, ready to serve. */
export interface Route {
  target: EdgeTarget
  projectId: string | null
  deploymentId: string | null
  projectAccount: Account | undefined
  deploymentAccount: Account | undefined
  /** The end of every record of this route, as JSON. */
  recordTail: string
  balance: Balance | undefined
  rules: RuleSet | undefined
  redirectToHttps: boolean
}

/** A whole table, compiled. A new one takes over connections, counters and rate limits of what stayed the same. */
export class Routing {
  readonly version: number
  readonly limits: EdgeLimits
  readonly trusted: AddressSet
  readonly challenges: ReadonlyMap<string, string>
  readonly certificates: ReadonlyMap<string, EdgeCertificate>
  readonly upstreams = new Map<string, Upstream>()
  /** Project and deployment ids. */
  readonly ids = new Set<string>()
  readonly folders = new Set<string>()
  readonly warnings: string[] = []
  readonly rules = new Map<string, CompiledRule>()
  readonly #routes = new Map<string, Route>()
  #previous: Routing | undefined
  readonly #tallies: Tallies

  constructor(table: EdgeTable, previous: Routing | undefined, tallies: Tallies) {
    this.version = table.version
    this.#previous = previous
    this.#tallies = tallies
    this.limits = { ...defaultLimits, ...table.limits }
    this.challenges = new Map(Object.entries(table.challenges ?? {}))
    this.certificates = new Map(Object.entries(table.certificates ?? {}).map(([host, pair]) => [host.toLowerCase(), pair]))
    this.trusted = new AddressSet()
    for (const entry of table.trustedProxies ?? [])
      if (!this.trusted.add(entry)) this.warnings.push(`trusted proxy "${entry}" is neither an address nor a CIDR`)
    for (const [hostname, host] of Object.entries(table.hosts)) this.#routes.set(hostname.toLowerCase(), this.#compile(host))
    // Holding on to the table before would hold on to all before it.
    this.#previous = undefined
  }

  /** Exact, else the longest wildcard that covers the name. */
  find(host: string): Route | undefined {
    const exact = this.#routes.get(host)
    if (exact) return exact
    let dot = host.indexOf('.')
    while (dot !== -1) {
      const wildcard = this.#routes.get(`*${host.slice(dot)}`)
      if (wildcard) return wildcard
      dot = host.indexOf('.', dot + 1)
    }
    return undefined
  }

  #compile(host: EdgeHost): Route {
    const { target } = host
    const projectId = target.projectId ?? null
    const deploymentId = 'deploymentId' in target ? target.deploymentId : null
    if (projectId) this.ids.add(projectId)
    if (deploymentId) this.ids.add(deploymentId)
    if (target.kind === 'static') this.folders.add(target.folder)
    return {
      target,
      projectId,
      deploymentId,
      projectAccount: projectId ? this.#tallies.project(projectId) : undefined,
      deploymentAccount: deploymentId ? this.#tallies.deployment(deploymentId) : undefined,
      recordTail: recordTail(deploymentId, projectId),
      balance: target.kind === 'upstreams' ? this.#balance(target) : undefined,
      rules: this.#ruleSet(host),
      redirectToHttps: host.redirectToHttps === true,
    }
  }

  #balance(target: UpstreamsTarget): Balance {
    const usable = target.upstreams.filter(({ id, port }) => {
      const valid = Number.isInteger(port) && port > 0 && port < 65_536
      if (!valid) this.warnings.push(`upstream ${id}: ${port} is no port`)
      return valid
    })
    return new Balance(
      usable.map((entry) => {
        const known = this.upstreams.get(entry.id) ?? this.#previous?.upstreams.get(entry.id)
        const same = known && known.host === entry.host && known.port === entry.port
        const upstream = same ? known : new Upstream(entry)
        this.upstreams.set(entry.id, upstream)
        return { upstream, weight: Math.min(100, Math.max(0, Math.round(entry.weight ?? 1))) }
      }),
    )
  }

  #ruleSet(host: EdgeHost): RuleSet | undefined {
    const compiled: CompiledRule[] = []
    for (const rule of host.rules ?? []) {
      // Several hosts of a project share a rule, and so its count.
      const known = this.rules.get(rule.id) ?? this.#previous?.rules.get(rule.id)
      const ready = compileRule(rule, known, this.warnings)
      if (!ready) continue
      this.rules.set(rule.id, ready)
      compiled.push(ready)
    }
    if (compiled.length === 0) return undefined
    compiled.sort((a, b) => a.order - b.order)
    return new RuleSet(compiled, (ruleId) => this.#tallies.hit(ruleId))
  }
}
