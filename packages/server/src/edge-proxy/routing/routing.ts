import { isDeepStrictEqual } from 'node:util'
import { AddressSet } from '../../platform/address-set.ts'
import { errorMessage } from '../../platform/error-message.ts'
import {
  defaultLimits,
  type EdgeCertificate,
  type EdgeHost,
  type EdgeLimits,
  type EdgeTarget,
  type EdgeUpstream,
} from '../protocol/edge-table.ts'
import { putEntries, type TablePiece, type TableRest, unknownBase } from '../protocol/table-pieces.ts'
import type { RequestCounter, RequestCounters } from '../records/request-counters.ts'
import { recordTail } from '../records/request-records.ts'
import type { TrafficCounter } from '../records/traffic-counters.ts'
import { Balance } from './balance.ts'
import { Deliveries } from './deliveries.ts'
import { type CompiledRule, compileRule, RuleSet } from './rules.ts'
import { Upstream } from './upstream.ts'

/** A host's table entry, compiled. */
export interface Route {
  target: EdgeTarget
  projectId: string | null
  deploymentId: string | null
  projectCounter: RequestCounter | undefined
  deploymentCounter: RequestCounter | undefined
  traffic: TrafficCounter | undefined
  /** The end of every record of this route, as JSON. */
  recordTail: string
  upstreams: Upstream[]
  balance: Balance | undefined
  rules: RuleSet | undefined
  redirectToHttps: boolean
  requestCertificate: boolean
  /** Invalid parts of the entry, which were ignored. */
  warnings: string[]
}

/**
 * A compiled table. It is built piece by piece, takes effect when it is complete, and does not change afterwards. It reuses
 * unchanged parts of the previous table: compiled hosts, open connections, counts of rate limits.
 */
export class Routing {
  readonly token: string | null
  version = 0
  limits: EdgeLimits = defaultLimits
  /** 0: the port the edge listens on. */
  publicHttpsPort = 0
  trusted = new AddressSet()
  challenges: ReadonlyMap<string, string> = new Map()
  deliveries: Deliveries | undefined
  readonly certificates: Map<string, EdgeCertificate>
  readonly upstreams = new Map<string, Upstream>()
  readonly rules = new Map<string, CompiledRule>()
  /** Project and deployment ids. */
  readonly ids = new Set<string>()
  readonly folders = new Set<string>()
  warnings: string[] = []
  /** Hosts whose entry cannot be compiled, with the reason; each keeps its previous route. */
  readonly refused: Map<string, string>
  readonly #routes: Map<string, Route>
  readonly #counters: RequestCounters
  #previous: Routing | undefined

  /** `base` is null for a whole table, otherwise the id of the table that this one changes. */
  constructor(token: string | null, base: string | null, previous: Routing | undefined, counters: RequestCounters) {
    if (base !== null && base !== previous?.token) throw new Error(unknownBase)
    this.token = token
    this.#previous = previous
    this.#counters = counters
    this.#routes = new Map(base === null ? [] : previous!.#routes)
    this.certificates = new Map(base === null ? [] : previous!.certificates)
    this.refused = new Map(base === null ? [] : previous!.refused)
  }

  /** True if this piece completes the table. */
  take(piece: TablePiece): boolean {
    for (const [name, host] of piece.hosts) this.#put(name.toLowerCase(), host)
    putEntries(this.certificates, piece.certificates)
    if (piece.last) this.#complete(piece.version, piece.rest ?? {})
    return piece.last
  }

  /** An invalid entry affects only its own host. */
  #put(name: string, host: EdgeHost | null): void {
    this.refused.delete(name)
    try {
      if (host === null) this.#routes.delete(name)
      else this.#routes.set(name, this.#compile(host))
    } catch (cause) {
      this.refused.set(name, errorMessage(cause))
      const previousRoute = this.#previous ? this.#previous.#routes.get(name) : undefined
      if (previousRoute) this.#routes.set(name, previousRoute)
    }
  }

  /** The exact name, otherwise the longest matching wildcard. */
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

  #complete(version: number, rest: TableRest): void {
    this.version = version
    this.limits = { ...defaultLimits, ...rest.limits }
    this.publicHttpsPort = rest.publicHttpsPort ?? 0
    this.challenges = new Map(Object.entries(rest.challenges ?? {}))
    for (const entry of rest.trustedProxies ?? [])
      if (!this.trusted.add(entry)) this.warnings.push(`trusted proxy "${entry}" is not an IP address or CIDR range`)
    this.upstreams.clear()
    this.rules.clear()
    for (const route of this.#routes.values()) this.#register(route)
    this.deliveries = rest.deliveries && new Deliveries(rest.deliveries, this.#previous?.deliveries)
    if (this.deliveries) this.upstreams.set(this.deliveries.upstream.id, this.deliveries.upstream)
    // A reference to the previous table would keep all earlier tables in memory.
    this.#previous = undefined
  }

  #register(route: Route): void {
    if (route.projectId) this.ids.add(route.projectId)
    if (route.deploymentId) this.ids.add(route.deploymentId)
    if (route.target.kind === 'static') this.folders.add(route.target.folder)
    for (const upstream of route.upstreams) this.upstreams.set(upstream.id, upstream)
    for (const rule of route.rules?.rules ?? []) this.rules.set(rule.id, rule)
    if (route.warnings.length > 0) this.warnings.push(...route.warnings)
  }

  #compile(host: EdgeHost): Route {
    const { target } = host
    const projectId = target.projectId ?? null
    const deploymentId = 'deploymentId' in target ? target.deploymentId : null
    const warnings: string[] = []
    const shares = this.#sharesOf(target, warnings)
    return {
      target,
      projectId,
      deploymentId,
      projectCounter: projectId ? this.#counters.project(projectId) : undefined,
      deploymentCounter: deploymentId ? this.#counters.deployment(deploymentId) : undefined,
      traffic: projectId && host.environment ? this.#counters.traffic.counterOf(projectId, host.environment) : undefined,
      recordTail: recordTail({ environment: host.environment ?? null, service: host.service ?? null, deploymentId, projectId }),
      upstreams: shares.map(({ upstream }) => upstream),
      balance: target.kind === 'upstreams' || target.kind === 'control' ? new Balance(shares) : undefined,
      rules: this.#ruleSet(host, warnings),
      redirectToHttps: host.redirectToHttps === true,
      requestCertificate: host.requestCertificate === true,
      warnings,
    }
  }

  #sharesOf(target: EdgeTarget, warnings: string[]): { upstream: Upstream; weight: number }[] {
    if (target.kind === 'upstreams') return this.#usableShares(target.upstreams, warnings)
    if (target.kind !== 'control') return []
    const { host, port } = target
    return this.#usableShares([{ id: `dashboard ${host}:${port}`, host, port }], warnings)
  }

  /** Leaves out upstreams with an invalid port; throws if none is left. */
  #usableShares(upstreams: readonly EdgeUpstream[], warnings: string[]): { upstream: Upstream; weight: number }[] {
    const usable = upstreams.filter(({ id, port }) => {
      const valid = Number.isInteger(port) && port > 0 && port < 65_536
      if (!valid) warnings.push(`upstream ${id}: ${port} is not a valid port`)
      return valid
    })
    if (usable.length === 0 && upstreams.length > 0) throw new Error(warnings.join('; '))
    return usable.map((entry) => {
      const existing = this.upstreams.get(entry.id) ?? this.#previous?.upstreams.get(entry.id)
      const isSame =
        existing && existing.host === entry.host && existing.port === entry.port && isSameOwner(existing.listener, entry.listener)
      const upstream = isSame ? existing : new Upstream(entry)
      this.upstreams.set(entry.id, upstream)
      return { upstream, weight: Math.min(100, Math.max(0, Math.round(entry.weight ?? 1))) }
    })
  }

  #ruleSet(host: EdgeHost, warnings: string[]): RuleSet | undefined {
    const compiled: CompiledRule[] = []
    for (const rule of host.rules ?? []) {
      // Several hosts of a project share a rule, and therefore its count.
      const existing = this.rules.get(rule.id) ?? this.#previous?.rules.get(rule.id)
      const compiledRule = compileRule(rule, existing, warnings)
      if (!compiledRule) continue
      this.rules.set(rule.id, compiledRule)
      compiled.push(compiledRule)
    }
    if (compiled.length === 0) return undefined
    compiled.sort((a, b) => a.order - b.order)
    return new RuleSet(compiled, (ruleId) => this.#counters.hit(ruleId), host.rulesHostname)
  }
}

const isSameOwner = (one: EdgeUpstream['listener'], other: EdgeUpstream['listener']) => isDeepStrictEqual(one, other)
