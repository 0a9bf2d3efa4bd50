import type { GitHostProvider } from '@berth/contract'

/** Display names. */
export const hostTitles: Readonly<Record<GitHostProvider, string>> = { github: 'GitHub', gitlab: 'GitLab', gitea: 'Gitea' }

export const isGitHostProvider = (word: string | null): word is GitHostProvider =>
  word !== null && Object.hasOwn(hostTitles, word)
