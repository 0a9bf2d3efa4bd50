import { GitName, GitOwner } from '@berth/contract'

export interface RepositoryName {
  owner: string
  repo: string
}

const patternOf = (schema: object) => new RegExp((schema as { pattern: string }).pattern)
const ownerPattern = patternOf(GitOwner)
const repoPattern = patternOf(GitName)

/** Owner and repository of a remote whose path is `owner/repo`, as git hosts write it; null for any other path. */
export function repositoryOf(url: string): RepositoryName | null {
  const path = pathOf(url)
  const lastSlash = path.lastIndexOf('/')
  const name = { owner: path.slice(0, Math.max(lastSlash, 0)), repo: path.slice(lastSlash + 1).replace(/\.git$/, '') }
  const isValid =
    name.owner.length <= 100 && name.repo.length <= 100 && ownerPattern.test(name.owner) && repoPattern.test(name.repo)
  return isValid ? name : null
}

/** The same URL with another repository's path; null where the current path does not name a repository. */
export function replaceRepository(url: string, { owner, repo }: RepositoryName): string | null {
  const path = pathOf(url)
  if (!repositoryOf(url)) return null
  const index = url.lastIndexOf(path)
  return `${url.slice(0, index)}${owner}/${repo}${/\.git\/?$/.test(url) ? '.git' : ''}`
}

/** Base URLs of the git hosts that this instance uses. */
export interface HostUrls {
  readonly github: string
  readonly gitlab: string
  readonly gitea: string
}

/** The addresses as they are now: operators can change them while the instance runs. */
export const hostUrlsOf = (settings: { hostUrls(): HostUrls }): HostUrls => settings.hostUrls()

/** The provider whose host the remote names; any other host is plain `git`. */
export function providerOf(url: string, urls: HostUrls): keyof HostUrls | 'git' {
  const provider = (['github', 'gitlab', 'gitea'] as const).find((provider) => isOnHost(url, urls[provider]))
  return provider ?? 'git'
}

/** Compares host and port for http(s) URLs; for ssh the port differs anyway, so the host name alone decides. */
export const isOnHost = (url: string, webUrl: string): boolean =>
  /^https?:/i.test(url) ? URL.parse(url)?.host === new URL(webUrl).host : hostOf(url) === hostOf(webUrl)

const hostOf = (url: string): string | undefined => /^(?:[a-z]+:\/\/)?(?:[^@/]*@)?([^:/]+)/i.exec(url)?.[1]?.toLowerCase()

/** Compares scheme, host and port: a credential may be sent only to the same host. */
export function isSameHost(left: string, right: string): boolean {
  return authorityOf(left) === authorityOf(right)
}

const authorityOf = (url: string): string | undefined => {
  const parsed = url.includes('://') ? URL.parse(url) : null
  return parsed ? `${parsed.protocol}//${parsed.host}`.toLowerCase() : hostOf(url)
}

/** The path of a URL, or of git's short form `user@host:path`, without leading and trailing slashes. */
function pathOf(url: string): string {
  const path = url.includes('://') ? (URL.parse(url)?.pathname ?? '') : url.slice(url.indexOf(':') + 1)
  return path.replace(/^\/+|\/+$/g, '')
}
