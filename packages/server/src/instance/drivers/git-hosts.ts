import type { GitHostProvider } from '@berth/contract'
import { createGhLogin, type LocalLogin } from '../../drivers/git-host/gh-login.ts'
import type { GitHost } from '../../drivers/git-host/git-host.ts'
import { createGitea } from '../../drivers/git-host/gitea/gitea.ts'
import { createGitHub } from '../../drivers/git-host/github/github.ts'
import { createGitLab } from '../../drivers/git-host/gitlab/gitlab.ts'
import { withListCache } from '../../drivers/git-host/list-cache.ts'
import { createRunCommand } from '../../drivers/shell/run-command.ts'
import type { GitHostDrivers, HostSettings } from '../../modules/git-host/index.ts'
import type { Config } from '../config/config.ts'

export interface InstanceGitHosts extends GitHostDrivers {
  localLogin: LocalLogin | null
}

/** Drivers of the git hosts. No request is sent, and no code loaded, until a user connects one. */
export function createGitHosts(config: Config): InstanceGitHosts {
  const { github, mode, environment } = config
  const drivers: Record<GitHostProvider, (settings: HostSettings) => GitHost> = {
    github: (settings) => createGitHub({ ...settings, apiUrl: github.apiUrl }),
    gitlab: createGitLab,
    gitea: createGitea,
  }
  return {
    configured: configuredHosts(config),
    create: (provider, settings) => withListCache(drivers[provider](settings)),
    localLogin: mode === 'self-hosted' ? createGhLogin(createRunCommand(environment), github.webUrl) : null,
  }
}

/** The settings that the environment gives for each host. */
export function configuredHosts({ github, gitlab, gitea }: Config): GitHostDrivers['configured'] {
  const noApp = { appId: null, appSlug: null, privateKey: null, webhookSecret: null }
  return {
    github,
    gitlab: { ...noApp, webUrl: gitlab.url, clientId: gitlab.clientId, clientSecret: gitlab.clientSecret },
    gitea: { ...noApp, webUrl: gitea.url, clientId: gitea.clientId, clientSecret: gitea.clientSecret },
  }
}
