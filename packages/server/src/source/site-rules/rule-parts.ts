import type { PatternStep, SiteHeaders, SiteRedirect } from '../../platform/site-rules/site-rules.ts'

/** Headers that the edge sets itself, for a file or for the connection. */
const ownHeaders =
  /^(content-(length|encoding|range)|transfer-encoding|connection|keep-alive|upgrade|trailer|te|proxy-.*|date|etag|last-modified|vary|accept-ranges|location|x-request-id)$/i
const headerName = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,100}$/
const headerValue = /^[\t\x20-\x7e]{0,2000}$/
const redirectStatuses = [301, 302, 303, 307, 308]

/** Parses a path pattern into segments; null when it is not supported. */
export function patternOf(written: string): PatternStep[] | null {
  if (!written.startsWith('/') || written.length > 500 || /[?#\0-\x1f]/.test(written)) return null
  const words = written.split('/').filter(Boolean)
  const steps = words.map((word, at) => stepOf(word, at === words.length - 1))
  return steps.every((step) => step !== null) ? steps : null
}

function stepOf(word: string, isLast: boolean): PatternStep | null {
  const [, name] = /^:([A-Za-z_]\w*)$/.exec(word) ?? []
  if (name) return `:${name}`
  const [, rest] = /^:([A-Za-z_]\w*)(?:\*|\(\.\*\))$/.exec(word) ?? []
  if (rest) return isLast ? `*${rest}` : null
  if (word === '*') return isLast ? '*splat' : null
  if (word === '(.*)') return isLast ? '*1' : null
  if (/[:*()[\]{}+?|\\^$]/.test(word)) return null
  try {
    return `=${decodeURIComponent(word)}`
  } catch {
    return null
  }
}

/** A path of the site, or a URL with a literal host; null for anything else. */
export function destinationOf(written: string): { to: string; isOutside: boolean } | null {
  // A lone surrogate, which JSON can contain, is invalid in a URL.
  if (written.length > 1000 || !written.isWellFormed() || /[\0-\x20\x7f"<>\\^`{|}]/.test(written)) return null
  const to = encodeURI(written).replaceAll('%25', '%')
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
  if (!pattern) return `${clip(from)} is no path that Berth can follow`
  const destination = destinationOf(to)
  if (!destination) return `${clip(to)} is no address that Berth leads to`
  if (redirectStatuses.includes(status)) return { from: pattern, to: destination.to, status, force }
  if (status !== 200 && status !== 404) return `${clip(from)} has the status ${status}, which is not followed`
  if (destination.isOutside) return `${clip(from)} would fetch ${clip(to)} for the visitor: that is not followed`
  return { from: pattern, to: destination.to, status, force }
}

/** The rule, and the headers that are not applied. */
export function headersOf(
  path: string,
  values: readonly (readonly [string, string])[],
): { rule: SiteHeaders | null; left: string[] } {
  const pattern = patternOf(path)
  if (!pattern) return { rule: null, left: [`${clip(path)} is no path that Berth can follow`] }
  const isGood = ([name, value]: readonly [string, string]) =>
    headerName.test(name) && !ownHeaders.test(name) && headerValue.test(value)
  const bad = values.filter((pair) => !isGood(pair)).map(([name]) => `the header ${clip(name)} is not the site's to set`)
  const good = values.filter(isGood).map(([name, value]): [string, string] => [name, value])
  return { rule: good.length > 0 ? { for: pattern, values: good } : null, left: bad }
}

export const clip = (text: string) => (text.length > 80 ? `${text.slice(0, 79)}…` : text).replace(/[\0-\x1f\x7f]/g, ' ')
