/**
 * Redirects and headers that the owner of a static site defines. Written beside the site when it is built, read by the edge.
 * Patterns are path segments that are compared one by one, never regular expressions.
 */
export interface SiteRules {
  redirects: SiteRedirect[]
  headers: SiteHeaders[]
}

export interface SiteRedirect {
  from: PatternStep[]
  /** A path of the site, or an external URL as its owner wrote it; `:name` stands for a captured segment. */
  to: string
  /** 3xx redirects; 200 and 404 respond with the site's own page at that path. */
  status: number
  /** Applies even if the site has a file at the path. */
  force: boolean
}

export interface SiteHeaders {
  for: PatternStep[]
  values: [name: string, value: string][]
}

/**
 * `=word`: exactly this segment. `:name`: any one segment. `*name`: the remaining segments, possibly none; only as the last step.
 */
export type PatternStep = string

/** Name of the rules file beside the folder of the pages, so that it is never served. */
export const siteRulesFile = 'site-rules.json'
export const siteRulesBytes = 512 * 1024
export const maxSiteRules = { redirects: 500, headers: 200, valuesEach: 30 }
