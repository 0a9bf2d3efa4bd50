import { GitName, GitOwner } from '@berth/contract'

export interface RepositoryName {
  owner: string
  repo: string
}

const formOf = (schema: object) => new RegExp((schema as { pattern: string }).pattern)
const ownerForm = formOf(GitOwner)
const repoForm = formOf(GitName)

/** Owner and repository of a remote whose path is `owner/repo`, as git hosts write it; null for any other path. */
export function repositoryOf(url: string): RepositoryName | null {
  const path = pathOf(url)
  const cut = path.lastIndexOf('/')
  const found = { owner: path.slice(0, Math.max(cut, 0)), repo: path.slice(cut + 1).replace(/\.git$/, '') }
  const fits = found.owner.length <= 100 && found.repo.length <= 100 && ownerForm.test(found.owner) && repoForm.test(found.repo)
  return fits ? found : null
}

/** The same URL with another repository's path; null where the current path does not name a repository. */
export function repoint(url: string, { owner, repo }: RepositoryName): string | null {
  const path = pathOf(url)
  if (!repositoryOf(url)) return null
  const at = url.lastIndexOf(path)
  return `${url.slice(0, at)}${owner}/${repo}${/\.git\/?$/.test(url) ? '.git' : ''}`
}

/** Base URLs of the git hosts that this instance uses. */
export interface HostUrls {
  github: string
  gitlab: string
  gitea: string
}

export const hostUrlsOf = (settings: {
  github: { webUrl: string }
  gitlab: { url: string }
  gitea: { url: string }
}): HostUrls => ({ github: settings.github.webUrl, gitlab: settings.gitlab.url, gitea: settings.gitea.url })

/** The provider whose host the remote names; any other host is plain `git`. */
export function providerOf(url: string, urls: HostUrls): keyof HostUrls | 'git' {
  const known = (['github', 'gitlab', 'gitea'] as const).find((provider) => isAt(url, urls[provider]))
  return known ?? 'git'
}

/** Compares host and port for http(s) URLs; for ssh the port differs anyway, so the host name alone decides. */
const isAt = (url: string, webUrl: string): boolean =>
  /^https?:/i.test(url) ? URL.parse(url)?.host === new URL(webUrl).host : hostOf(url) === hostOf(webUrl)

const hostOf = (url: string): string | undefined => /^(?:[a-z]+:\/\/)?(?:[^@/]*@)?([^:/]+)/i.exec(url)?.[1]?.toLowerCase()

/** Compares scheme, host and port: a credential may be sent only to the same host. */
export function sameHost(left: string, right: string): boolean {
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
