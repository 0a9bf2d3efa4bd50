/**
 * What the owner of a static site says of its addresses: where some lead, and what is said with some. Written beside the site when it
 * was built, read by the edge. Patterns are steps of a path, compared one by one: nothing of it is a regular expression.
 */
export interface SiteRules {
  redirects: SiteRedirect[]
  headers: SiteHeaders[]
}

export interface SiteRedirect {
  from: PatternStep[]
  /** A path of the site, or an address elsewhere as its owner wrote it; `:name` stands for what was in its place. */
  to: string
  /** 3xx leads there; 200 and 404 answer with the site's own page of that path. */
  status: number
  /** Also where the site has a file at the path. */
  force: boolean
}

export interface SiteHeaders {
  for: PatternStep[]
  values: [name: string, value: string][]
}

/** `=word`: this word. `:name`: any one. `*name`: the rest, perhaps nothing; the last step only. */
export type PatternStep = string

/** Beside the folder of the pages, so that nobody is served it. */
export const siteRulesFile = 'site-rules.json'
export const siteRulesBytes = 512 * 1024
export const siteRulesAtMost = { redirects: 500, headers: 200, valuesEach: 30 }
