import { maxSiteRules, type SiteHeaders, type SiteRedirect, type SiteRules } from '../../platform/site-rules/site-rules.ts'
import { headersOf, redirectOf, type WrittenRedirect } from './rule-parts.ts'

/** Collects the rules of one file within their limits, and warnings about the others. */
export class RulesCollector {
  readonly rules: SiteRules = { redirects: [], headers: [] }
  readonly #left: string[] = []
  readonly #file: string

  constructor(file: string) {
    this.#file = file
  }

  /** Warnings, at most ten per file. */
  get warnings(): string[] {
    const more = this.#left.length > 10 ? [`${this.#file}: ${this.#left.length - 10} more are left out`] : []
    return [...this.#left.slice(0, 10).map((message) => `${this.#file}: ${message}`), ...more]
  }

  leave(message: string): void {
    this.#left.push(message)
  }

  redirect(written: WrittenRedirect): void {
    const rule = redirectOf(written)
    if (typeof rule === 'string') this.leave(rule)
    else this.#add(this.rules.redirects, rule, maxSiteRules.redirects, 'redirects')
  }

  headers(path: string, values: readonly (readonly [string, string])[]): void {
    const { rule, left } = headersOf(path, values.slice(0, maxSiteRules.valuesEach))
    for (const message of left) this.leave(message)
    if (rule) this.#add(this.rules.headers, rule, maxSiteRules.headers, 'rules for headers')
  }

  #add<Rule extends SiteRedirect | SiteHeaders>(into: Rule[], rule: Rule, atMost: number, what: string): void {
    if (into.length < atMost) into.push(rule)
    else this.leave(`only the first ${atMost} ${what} count`)
  }
}

/** Joins rules; the earlier ones come first. */
export function joinRules(...all: readonly (SiteRules | undefined)[]): SiteRules {
  const parts = all.filter((one) => one !== undefined)
  return {
    redirects: parts.flatMap(({ redirects }) => redirects).slice(0, maxSiteRules.redirects),
    headers: parts.flatMap(({ headers }) => headers).slice(0, maxSiteRules.headers),
  }
}

export const hasRules = ({ redirects, headers }: SiteRules): boolean => redirects.length + headers.length > 0
