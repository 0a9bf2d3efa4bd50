import type { GitHostProvider, ProjectSource } from '@berth/contract'

/** The last segment of a repository's URL, without `.git`. */
export const nameOfAddress = (url: string): string =>
  url
    .replace(/\/+$/, '')
    .split(/[/:]/)
    .at(-1)
    ?.replace(/\.git$/, '') || 'project'

const hosts = ['github', 'gitlab', 'gitea'] as const satisfies readonly GitHostProvider[]

/** The git host and repository of a source; undefined if it has only a URL. */
export function hostedAt({ provider, owner, repo }: Pick<ProjectSource, 'provider' | 'owner' | 'repo'>) {
  const host = hosts.find((one) => one === provider)
  return host && owner && repo ? { provider: host, owner, repo } : undefined
}
