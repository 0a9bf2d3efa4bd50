import { maxSiteRules, type SiteHeaders, type SiteRedirect, type SiteRules } from '../../platform/site-rules/site-rules.ts'
import { headersOf, redirectOf, type WrittenRedirect } from './rule-parts.ts'

/** Collects the rules of one file within their limits, and warnings about the others. */
export class RulesCollector {
  readonly rules: SiteRules = { redirects: [], headers: [] }
  readonly #ignored: string[] = []
  readonly #file: string

  constructor(file: string) {
    this.#file = file
  }

  /** Warnings, at most ten per file. */
  get warnings(): string[] {
    const more = this.#ignored.length > 10 ? [`${this.#file}: ${this.#ignored.length - 10} more are ignored`] : []
    return [...this.#ignored.slice(0, 10).map((message) => `${this.#file}: ${message}`), ...more]
  }

  ignore(message: string): void {
    this.#ignored.push(message)
  }

  redirect(redirect: WrittenRedirect): void {
    const rule = redirectOf(redirect)
    if (typeof rule === 'string') this.ignore(rule)
    else this.#add(this.rules.redirects, rule, maxSiteRules.redirects, 'redirects')
  }

  headers(path: string, values: readonly (readonly [string, string])[]): void {
    const { rule, ignored } = headersOf(path, values.slice(0, maxSiteRules.valuesEach))
    for (const message of ignored) this.ignore(message)
    if (rule) this.#add(this.rules.headers, rule, maxSiteRules.headers, 'rules for headers')
  }

  #add<Rule extends SiteRedirect | SiteHeaders>(into: Rule[], rule: Rule, max: number, subject: string): void {
    if (into.length < max) into.push(rule)
    else this.ignore(`only the first ${max} ${subject} are applied`)
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
