import type { PatternStep, SiteRedirect, SiteRules } from './site-rules.ts'

export type Captured = Readonly<Record<string, readonly string[]>>

/** The steps of a decoded path. */
export const stepsOf = (path: string): string[] => path.split('/').filter(Boolean)

/** What stood in the place of names; undefined where the path is another. One walk over the path. */
export function matchSteps(pattern: readonly PatternStep[], path: readonly string[]): Captured | undefined {
  const captured: Record<string, readonly string[]> = Object.create(null)
  for (const [at, step] of pattern.entries()) {
    const name = step.slice(1)
    if (step.startsWith('*')) {
      captured[name] = path.slice(at)
      return captured
    }
    const word = path[at]
    if (word === undefined || (step.startsWith('=') && word !== name)) return undefined
    if (step.startsWith(':')) captured[name] = [word]
  }
  return path.length === pattern.length ? captured : undefined
}

export interface Redirection {
  rule: SiteRedirect
  /** With what was captured in its place. */
  to: string
}

/** The first that fits decides. One that would send a visitor to where they are (`/docs` to `/docs/`) would do so for ever: it does not count. */
export function redirectionFor({ redirects }: SiteRules, path: readonly string[]): Redirection | undefined {
  for (const rule of redirects) {
    const captured = matchSteps(rule.from, path)
    const to = captured && filled(rule.to, captured)
    if (to && !(rule.status >= 300 && rule.status < 400 && isSamePath(to, path))) return { rule, to }
  }
  return undefined
}

/** The last word counts where two rules set the same. */
export function headersFor({ headers }: SiteRules, path: readonly string[]): [name: string, value: string][] {
  const found = new Map<string, [string, string]>()
  for (const rule of headers)
    if (matchSteps(rule.for, path)) for (const pair of rule.values) found.set(pair[0].toLowerCase(), pair)
  return [...found.values()]
}

/** A slash at the end makes no other path here. */
function isSamePath(to: string, path: readonly string[]): boolean {
  if (!to.startsWith('/')) return false
  try {
    const steps = stepsOf(decodeURIComponent(/^[^?#]*/.exec(to)![0]))
    return steps.length === path.length && steps.every((step, at) => step === path[at])
  } catch {
    return false
  }
}

const names = /:([A-Za-z_]\w*)\*?|\$1/g

/** What a visitor wrote is a part of a path and nothing more: a path of the site stays one, whatever stood in it. */
function filled(to: string, captured: Captured): string {
  const text = to.replace(names, (written, name: string | undefined) => {
    const steps = captured[name ?? '1']
    return steps ? steps.map(encodeURIComponent).join('/') : written
  })
  return to.startsWith('/') ? `/${text.replace(/^[/\\]+/, '')}` : text
}
