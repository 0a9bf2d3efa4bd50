import { GitName, GitOwner } from '@berth/contract'

export interface RepositoryName {
  owner: string
  repo: string
}

const formOf = (schema: object) => new RegExp((schema as { pattern: string }).pattern)
const ownerForm = formOf(GitOwner)
const repoForm = formOf(GitName)

/** Owner and repository of a remote whose path is `owner/repo`, as the git hosts have it; null for any other path. */
export function repositoryOf(url: string): RepositoryName | null {
  const path = pathOf(url)
  const cut = path.lastIndexOf('/')
  const found = { owner: path.slice(0, Math.max(cut, 0)), repo: path.slice(cut + 1).replace(/\.git$/, '') }
  const fits = found.owner.length <= 100 && found.repo.length <= 100 && ownerForm.test(found.owner) && repoForm.test(found.repo)
  return fits ? found : null
}

/** The same host with another repository's path; null where the path does not name one now. */
export function repoint(url: string, { owner, repo }: RepositoryName): string | null {
  const path = pathOf(url)
  if (!repositoryOf(url)) return null
  const at = url.lastIndexOf(path)
  return `${url.slice(0, at)}${owner}/${repo}${/\.git\/?$/.test(url) ? '.git' : ''}`
}

/** The provider that a remote's host is known to be, `githubUrl` being where GitHub is for this instance; any other host is plain `git`. */
export function providerOf(url: string, githubUrl: string): 'github' | 'gitlab' | 'git' {
  const host = hostOf(url)
  return host === hostOf(githubUrl) ? 'github' : host === 'gitlab.com' ? 'gitlab' : 'git'
}

const hostOf = (url: string): string | undefined => /^(?:[a-z]+:\/\/)?(?:[^@/]*@)?([^:/]+)/i.exec(url)?.[1]?.toLowerCase()

/** Host and port, which is who gets to see a credential. */
export function sameHost(left: string, right: string): boolean {
  return authorityOf(left) === authorityOf(right)
}

const authorityOf = (url: string): string | undefined => {
  const parsed = url.includes('://') ? URL.parse(url) : null
  return parsed ? `${parsed.protocol}//${parsed.host}`.toLowerCase() : hostOf(url)
}

/** Without slashes at its ends; of a URL or of git's short form `user@host:path`. */
function pathOf(url: string): string {
  const path = url.includes('://') ? (URL.parse(url)?.pathname ?? '') : url.slice(url.indexOf(':') + 1)
  return path.replace(/^\/+|\/+$/g, '')
}
