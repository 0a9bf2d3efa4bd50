import type { GitHostProvider, ProjectSource } from '@berth/contract'

/** The last part of a repository's address, without `.git`. */
export const nameOfAddress = (url: string): string =>
  url
    .replace(/\/+$/, '')
    .split(/[/:]/)
    .at(-1)
    ?.replace(/\.git$/, '') || 'project'

const hosts = ['github', 'gitlab', 'gitea'] as const satisfies readonly GitHostProvider[]

/** Which repository of which git host a source is; nothing where it is only an address. */
export function hostedAt({ provider, owner, repo }: Pick<ProjectSource, 'provider' | 'owner' | 'repo'>) {
  const host = hosts.find((one) => one === provider)
  return host && owner && repo ? { provider: host, owner, repo } : undefined
}
