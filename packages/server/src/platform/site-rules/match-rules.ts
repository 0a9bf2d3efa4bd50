import type { PatternStep, SiteRedirect, SiteRules } from './site-rules.ts'

export type Captured = Readonly<Record<string, readonly string[]>>

/** The segments of a decoded path. */
export const stepsOf = (path: string): string[] => path.split('/').filter(Boolean)

/** Values of the pattern's placeholders; undefined if the path does not match. Linear in the length of the path. */
export function matchSteps(pattern: readonly PatternStep[], path: readonly string[]): Captured | undefined {
  const captured: Record<string, readonly string[]> = Object.create(null)
  for (const [at, step] of pattern.entries()) {
    const name = step.slice(1)
    if (step.startsWith('*')) {
      captured[name] = path.slice(at)
      return captured
    }
    const segment = path[at]
    if (segment === undefined || (step.startsWith('=') && segment !== name)) return undefined
    if (step.startsWith(':')) captured[name] = [segment]
  }
  return path.length === pattern.length ? captured : undefined
}

export interface Redirection {
  rule: SiteRedirect
  /** Target with the captured values filled in. */
  to: string
}

/** The first matching redirect wins. A redirect to the same path (`/docs` to `/docs/`) would loop, so it is skipped. */
export function redirectionFor({ redirects }: SiteRules, path: readonly string[]): Redirection | undefined {
  for (const rule of redirects) {
    const captured = matchSteps(rule.from, path)
    const to = captured && fillPlaceholders(rule.to, captured)
    if (to && !(rule.status >= 300 && rule.status < 400 && isSamePath(to, path))) return { rule, to }
  }
  return undefined
}

/** The last rule wins if two set the same header. */
export function headersFor({ headers }: SiteRules, path: readonly string[]): [name: string, value: string][] {
  const found = new Map<string, [string, string]>()
  for (const rule of headers)
    if (matchSteps(rule.for, path)) for (const pair of rule.values) found.set(pair[0].toLowerCase(), pair)
  return [...found.values()]
}

/** A trailing slash makes no difference. */
function isSamePath(to: string, path: readonly string[]): boolean {
  if (!to.startsWith('/')) return false
  try {
    const steps = stepsOf(decodeURIComponent(/^[^?#]*/.exec(to)![0]))
    return steps.length === path.length && steps.every((step, at) => step === path[at])
  } catch {
    return false
  }
}

const placeholders = /:([A-Za-z_]\w*)\*?|\$1/g

/**
 * Captured values are encoded as path segments, and a target on the site stays on the site: leading slashes and backslashes that a
 * visitor put into the path are removed.
 */
function fillPlaceholders(to: string, captured: Captured): string {
  const text = to.replace(placeholders, (placeholder, name: string | undefined) => {
    const steps = captured[name ?? '1']
    return steps ? steps.map(encodeURIComponent).join('/') : placeholder
  })
  return to.startsWith('/') ? `/${text.replace(/^[/\\]+/, '')}` : text
}
