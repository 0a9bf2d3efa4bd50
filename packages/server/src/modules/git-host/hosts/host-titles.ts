import type { GitHostProvider } from '@berth/contract'

/** Display names. */
export const hostTitles: Readonly<Record<GitHostProvider, string>> = { github: 'GitHub', gitlab: 'GitLab', gitea: 'Gitea' }

export const isGitHostProvider = (provider: string | null): provider is GitHostProvider =>
  provider !== null && Object.hasOwn(hostTitles, provider)
