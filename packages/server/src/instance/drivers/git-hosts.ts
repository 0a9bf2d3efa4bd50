import type { GitHostProvider } from '@berth/contract'
import { createGhLogin, type LocalLogin } from '../../drivers/git-host/gh-login.ts'
import type { GitHost } from '../../drivers/git-host/git-host.ts'
import { createGitea } from '../../drivers/git-host/gitea/gitea.ts'
import { createGitHub } from '../../drivers/git-host/github/github.ts'
import { createGitLab } from '../../drivers/git-host/gitlab/gitlab.ts'
import { withListCache } from '../../drivers/git-host/kept-lists.ts'
import { createRunCommand } from '../../drivers/shell/run-command.ts'
import type { Secret } from '../../platform/secrets/secret.ts'
import type { Config } from '../config/config.ts'

export interface GitHostDrivers {
  hosts: Readonly<Record<GitHostProvider, GitHost>>
  localLogin: LocalLogin | null
  webhookSecrets: Readonly<Partial<Record<GitHostProvider, Secret>>>
}

/** The configured git hosts. No request is sent, and no code loaded, until a user connects one. */
export function createGitHosts({ github, gitlab, gitea, mode, environment }: Config): GitHostDrivers {
  return {
    hosts: {
      github: withListCache(createGitHub(github)),
      gitlab: withListCache(createGitLab({ ...gitlab, webUrl: gitlab.url })),
      gitea: withListCache(createGitea({ ...gitea, webUrl: gitea.url })),
    },
    localLogin: mode === 'self-hosted' ? createGhLogin(createRunCommand(environment), github.webUrl) : null,
    webhookSecrets: github.webhookSecret ? { github: github.webhookSecret } : {},
  }
}
