import type { CreateRule } from '@berth/contract'
import { isAddressEntry } from '../../../platform/address-set.ts'
import { refuse } from '../../../platform/failure.ts'

export type RuleKind = CreateRule['kind']
export type RuleConfig = Record<string, unknown>

/** Checks and normalizes the config of a rule; anything else responds 400 and names the field below `config`. */
export function checkRuleConfig(kind: RuleKind, config: RuleConfig): RuleConfig {
  const fields = fieldChecks[kind]
  const checked: RuleConfig = {}
  for (const [name, value] of Object.entries(config)) {
    const check = Object.hasOwn(fields, name) ? fields[name] : undefined
    if (!check) refuse(`config.${name}`, `is not a field of a ${kind} rule. Its fields are ${Object.keys(fields).join(', ')}`)
    checked[name] = check(value, `config.${name}`)
  }
  const missing = required[kind].filter((name) => checked[name] === undefined)
  if (missing.length > 0) refuse(`config.${missing[0]}`, 'is required')
  if (Object.keys(checked).length === 0)
    refuse('config', `needs at least one of ${Object.keys(fields).join(', ')}, otherwise the rule has no effect`)
  return checked
}

type Check = (value: unknown, field: string) => unknown

const wholeNumber =
  (min: number, max: number): Check =>
  (value, field) => {
    const isValid = Number.isInteger(value) && (value as number) >= min && (value as number) <= max
    return isValid ? value : refuse(field, `must be a whole number from ${min} to ${max}`)
  }

/** Refuses an empty list: a rule with only empty lists would have no effect but look effective. */
const listOf =
  (max: number, check: (text: string, field: string) => string): Check =>
  (value, field) => {
    if (!Array.isArray(value) || value.length === 0) refuse(field, 'must be a list with at least one entry')
    if (value.length > max) refuse(field, `must have no more than ${max} entries`)
    return value.map((entry: unknown, index) => {
      if (typeof entry !== 'string') refuse(`${field}.${index}`, 'must be a string')
      return check(entry.trim(), `${field}.${index}`)
    })
  }

/** Checked with the edge's own parser: an accepted entry takes effect there. */
const address = (text: string, field: string): string =>
  isAddressEntry(text) ? text : refuse(field, 'is not an IP address or CIDR range such as 203.0.113.0/24')

const userAgent = (text: string, field: string): string =>
  /^[^\u0000-\u001f\u007f]{1,500}$/.test(text) ? text : refuse(field, 'must be 1 to 500 characters without control characters')

const method = (text: string, field: string): string =>
  /^[A-Za-z]{1,20}$/.test(text) ? text.toUpperCase() : refuse(field, 'is not an HTTP method')

const addresses = listOf(10_000, address)

const fieldChecks: Record<RuleKind, Record<string, Check>> = {
  'rate-limit': {
    requests: wholeNumber(1, 1_000_000),
    windowSeconds: wholeNumber(1, 86_400),
    burst: wholeNumber(0, 1_000_000),
    status: wholeNumber(400, 599),
  },
  ban: { ips: addresses, userAgents: listOf(1_000, userAgent) },
  'allow-deny': { allow: addresses, deny: addresses, methods: listOf(50, method) },
}

const required: Record<RuleKind, readonly string[]> = { 'rate-limit': ['requests', 'windowSeconds'], ban: [], 'allow-deny': [] }
