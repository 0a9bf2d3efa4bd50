import { type AddressKey, AddressSet, clientKey } from '../../platform/address-set.ts'
import { RateLimit } from '../limits/rate-limit.ts'
import type { RequestHead } from '../message/request-head.ts'
import { methodsOf } from '../message/request-methods.ts'
import type { AllowDenyConfig, BanConfig, EdgeRule } from '../protocol/edge-table.ts'
import { PathReadings, rulePrefixes } from './rule-path.ts'

export interface Refusal {
  status: number
  /** 0 without a Retry-After header. */
  retryAfterSeconds: number
}

/** A compiled rule. */
export interface CompiledRule {
  id: string
  order: number
  /** Rules with equal text are the same: their counters survive a table change. */
  source: string
  limit: RateLimit | undefined
  applies(hostname: string, path: () => PathReadings, now: number): boolean
  evaluate(head: RequestHead, client: AddressKey, now: number): Refusal | undefined
  dryRun: boolean
}

/** The rules of one host: bans and allow lists before rate limits. */
export class RuleSet {
  readonly rules: CompiledRule[]
  readonly #onHit: (ruleId: string) => void
  readonly #hostname: string | undefined

  /** `hostname` replaces the requested one. */
  constructor(rules: CompiledRule[], onHit: (ruleId: string) => void, hostname?: string) {
    this.rules = rules
    this.#onHit = onHit
    this.#hostname = hostname
  }

  /** The first refusal that is not a dry run. Dry runs count their hits and let the request pass. */
  evaluate(head: RequestHead, client: AddressKey, now: number): Refusal | undefined {
    // Computed only for rules with a path.
    let readings: PathReadings | undefined
    const path = () => {
      readings ??= new PathReadings(head.target)
      return readings
    }
    for (const rule of this.rules) {
      if (!rule.applies(this.#hostname ?? head.host, path, now)) continue
      const refusal = rule.evaluate(head, client, now)
      if (!refusal) continue
      this.#onHit(rule.id)
      if (!rule.dryRun) return refusal
    }
    return undefined
  }
}

const orders = { ban: 0, 'allow-deny': 1, 'rate-limit': 2 }

/** Undefined if the rule can never refuse a request; invalid parts of it are named in `warnings`. */
export function compileRule(rule: EdgeRule, previous: CompiledRule | undefined, warnings: string[]): CompiledRule | undefined {
  if (!rule.enabled) return undefined
  const source = JSON.stringify(rule)
  if (previous?.source === source) return previous
  const expiresAt = rule.expiresAt ? Date.parse(rule.expiresAt) : Number.POSITIVE_INFINITY
  const hostname = rule.hostname?.toLowerCase()
  const prefixes = rule.pathPrefix ? rulePrefixes(rule.pathPrefix) : undefined
  const limit = rule.kind === 'rate-limit' ? new RateLimit(rule.config) : undefined
  const evaluate = createEvaluator(rule, limit, warnings)
  return {
    id: rule.id,
    order: orders[rule.kind],
    source,
    limit,
    dryRun: rule.dryRun === true,
    applies: (requested, path, now) =>
      now < expiresAt && (hostname === undefined || hostname === requested) && (prefixes === undefined || path().below(prefixes)),
    evaluate,
  }
}

function createEvaluator(rule: EdgeRule, limit: RateLimit | undefined, warnings: string[]): CompiledRule['evaluate'] {
  if (rule.kind === 'ban') return evaluateBan(rule.id, rule.config, warnings)
  if (rule.kind === 'allow-deny') return evaluateAllowDeny(rule.id, rule.config, warnings)
  const status = rule.config.status ?? 429
  return (_, client, now) => {
    const retryAfterSeconds = limit!.take(clientKey(client), now)
    return retryAfterSeconds > 0 ? { status, retryAfterSeconds } : undefined
  }
}

/** Maximum length of a User-Agent that is compared: browsers send less, and each rule text is searched in it. */
const comparedCharacters = 2048
const forbidden: Refusal = { status: 403, retryAfterSeconds: 0 }

function evaluateBan(id: string, config: BanConfig, warnings: string[]): CompiledRule['evaluate'] {
  const ips = addressSet(id, config.ips ?? [], warnings)
  const agents = (config.userAgents ?? []).map((agent) => agent.trim().toLowerCase()).filter(Boolean)
  return (head, client) => {
    if (ips.has(client)) return forbidden
    if (agents.length === 0 || head.userAgent === '') return undefined
    const userAgent = head.userAgent.slice(0, comparedCharacters).toLowerCase()
    return agents.some((agent) => userAgent.includes(agent)) ? forbidden : undefined
  }
}

/** The three conditions are independent: a request passes if it meets all that are given. */
function evaluateAllowDeny(id: string, config: AllowDenyConfig, warnings: string[]): CompiledRule['evaluate'] {
  const deny = addressSet(id, config.deny ?? [], warnings)
  const allow = config.allow && config.allow.length > 0 ? addressSet(id, config.allow, warnings) : undefined
  const methods = upper(config.methods)
  return (head, client) => {
    if (deny.has(client)) return forbidden
    if (allow && !allow.has(client)) return forbidden
    if (!methods) return undefined
    // Some frameworks accept a method in any case, or from a header: a request passes only if the exact method and all others are
    // allowed.
    return methods.has(head.method) && methodsOf(head).every((method) => methods.has(method)) ? undefined : forbidden
  }
}

function addressSet(id: string, entries: readonly string[], warnings: string[]): AddressSet {
  const set = new AddressSet()
  for (const entry of entries)
    if (!set.add(entry.trim())) warnings.push(`rule ${id}: "${entry}" is not an IP address or CIDR range`)
  return set
}

const upper = (methods: readonly string[] | undefined) =>
  methods && methods.length > 0 ? new Set(methods.map((method) => method.toUpperCase())) : undefined
