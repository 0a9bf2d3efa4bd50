import type { GitHostProvider } from '@berth/contract'

export const providerNames: Readonly<Record<GitHostProvider, string>> = {
  github: 'GitHub',
  gitlab: 'GitLab',
  gitea: 'Gitea or Forgejo',
}
