import type { PatternStep, SiteHeaders, SiteRedirect } from '../../platform/site-rules/site-rules.ts'

/** Headers that the edge sets itself, for a file or for the connection. */
const reservedHeaders =
  /^(content-(length|encoding|range)|transfer-encoding|connection|keep-alive|upgrade|trailer|te|proxy-.*|date|etag|last-modified|vary|accept-ranges|location|x-request-id)$/i
const headerName = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,100}$/
const headerValue = /^[\t\x20-\x7e]{0,2000}$/
const redirectStatuses = [301, 302, 303, 307, 308]

/** Parses a path pattern into segments; null when it is not supported. */
export function patternOf(text: string): PatternStep[] | null {
  if (!text.startsWith('/') || text.length > 500 || /[?#\0-\x1f]/.test(text)) return null
  const segments = text.split('/').filter(Boolean)
  const steps = segments.map((segment, at) => stepOf(segment, at === segments.length - 1))
  return steps.every((step) => step !== null) ? steps : null
}

function stepOf(segment: string, isLast: boolean): PatternStep | null {
  const [, name] = /^:([A-Za-z_]\w*)$/.exec(segment) ?? []
  if (name) return `:${name}`
  const [, rest] = /^:([A-Za-z_]\w*)(?:\*|\(\.\*\))$/.exec(segment) ?? []
  if (rest) return isLast ? `*${rest}` : null
  if (segment === '*') return isLast ? '*splat' : null
  if (segment === '(.*)') return isLast ? '*1' : null
  if (/[:*()[\]{}+?|\\^$]/.test(segment)) return null
  try {
    return `=${decodeURIComponent(segment)}`
  } catch {
    return null
  }
}

/** A path of the site, or a URL with a literal host; null for anything else. */
export function destinationOf(text: string): { to: string; isOutside: boolean } | null {
  // A lone surrogate, which JSON can contain, is invalid in a URL.
  if (text.length > 1000 || !text.isWellFormed() || /[\0-\x20\x7f"<>\\^`{|}]/.test(text)) return null
  const to = encodeURI(text).replaceAll('%25', '%')
  if (/^\/(?!\/)/.test(to)) return { to, isOutside: false }
  const [, host] = /^https?:\/\/([^/?#]+)/i.exec(to) ?? []
  return host && /^[A-Za-z0-9.-]+(:\d{1,5})?$/.test(host) && URL.canParse(to) ? { to, isOutside: true } : null
}

export interface WrittenRedirect {
  from: string
  to: string
  status: number
  force: boolean
}

/** The rule, or the reason why it is not applied. */
export function redirectOf({ from, to, status, force }: WrittenRedirect): SiteRedirect | string {
  const pattern = patternOf(from)
  if (!pattern) return `${clip(from)} is not a supported path pattern`
  const destination = destinationOf(to)
  if (!destination) return `${clip(to)} is not a valid target: use a path or an http(s) URL`
  if (redirectStatuses.includes(status)) return { from: pattern, to: destination.to, status, force }
  if (status !== 200 && status !== 404) return `${clip(from)} has the status ${status}, which is not supported`
  if (destination.isOutside) return `${clip(from)} proxies to ${clip(to)}: proxying to another host is not supported`
  return { from: pattern, to: destination.to, status, force }
}

/** The rule, and the headers that are not applied. */
export function headersOf(
  path: string,
  values: readonly (readonly [string, string])[],
): { rule: SiteHeaders | null; ignored: string[] } {
  const pattern = patternOf(path)
  if (!pattern) return { rule: null, ignored: [`${clip(path)} is not a supported path pattern`] }
  const isValid = ([name, value]: readonly [string, string]) =>
    headerName.test(name) && !reservedHeaders.test(name) && headerValue.test(value)
  const invalid = values
    .filter((pair) => !isValid(pair))
    .map(([name]) => `the header ${clip(name)} is reserved, or its name or value is invalid`)
  const valid = values.filter(isValid).map(([name, value]): [string, string] => [name, value])
  return { rule: valid.length > 0 ? { for: pattern, values: valid } : null, ignored: invalid }
}

export const clip = (text: string) => (text.length > 80 ? `${text.slice(0, 79)}…` : text).replace(/[\0-\x1f\x7f]/g, ' ')
