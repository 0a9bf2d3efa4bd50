import type { RouteRule } from '@berth/contract'
import { numberText, plural } from '../text/sizes.ts'

interface RateLimit {
  requests?: number
  windowSeconds?: number
}
const list = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : [])

/** Describes a rule in a sentence. */
export function ruleText({
  kind,
  config,
  pathPrefix,
  hostname,
}: Pick<RouteRule, 'kind' | 'config' | 'pathPrefix' | 'hostname'>): string {
  const where = `${hostname ? ` at ${hostname}` : ''}${pathPrefix ? ` below ${pathPrefix}` : ''}`
  if (kind === 'rate-limit') {
    const { requests = 0, windowSeconds = 0 } = config as RateLimit
    return `At most ${plural(requests, 'request')} per address in ${plural(windowSeconds, 'second')}${where}`
  }
  if (kind === 'ban') {
    const banned = [...list(config.ips), ...list(config.userAgents).map((agent) => `the agent “${agent}”`)]
    return `Block ${banned.join(', ')}${where}`
  }
  const parts = [
    list(config.deny).length > 0 && `refuse ${list(config.deny).join(', ')}`,
    list(config.allow).length > 0 && `allow only ${list(config.allow).join(', ')}`,
    list(config.methods).length > 0 && `allow only the methods ${list(config.methods).join(', ')}`,
  ].filter(Boolean)
  const text = parts.join('; ')
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${where}`
}

/** Describes the rule's counter: a dry run has blocked no requests. */
export const hitText = ({ hits, dryRun }: Pick<RouteRule, 'hits' | 'dryRun'>): string =>
  dryRun ? `would have blocked ${numberText(hits)}` : `${numberText(hits)} blocked`

const lines = (text: string) =>
  text
    .split(/[\s,]+/)
    .map((one) => one.trim())
    .filter(Boolean)

export interface RuleForm {
  kind: RouteRule['kind']
  pathPrefix: string
  requests: number
  windowSeconds: number
  addresses: string
  allow: string
  deny: string
  dryRun: boolean
}

/** The request body of the filled-in form. */
export function ruleBody({ kind, pathPrefix, dryRun, ...form }: RuleForm) {
  const config =
    kind === 'rate-limit'
      ? { requests: form.requests, windowSeconds: form.windowSeconds }
      : kind === 'ban'
        ? { ips: lines(form.addresses) }
        : {
            ...(lines(form.allow).length > 0 ? { allow: lines(form.allow) } : {}),
            ...(lines(form.deny).length > 0 ? { deny: lines(form.deny) } : {}),
          }
  return { kind, dryRun, config, ...(pathPrefix ? { pathPrefix } : {}) }
}
