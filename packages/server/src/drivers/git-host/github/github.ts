import type { GitHost } from '../git-host.ts'
import { createSignIn } from '../oauth2.ts'
import { createApp, installationToken } from './github-app.ts'
import { GitHubClient, type GitHubSettings } from './github-client.ts'
import { isSignedByGitHub, readGitHubDelivery } from './github-deliveries.ts'
import { createHooks } from './github-hooks.ts'
import { createManifests } from './github-manifest.ts'
import { createReports } from './github-reports.ts'
import { createRepositories } from './github-repositories.ts'

export type { GitHubSettings } from './github-client.ts'

/** GitHub, GitHub Enterprise, or a compatible host at the URLs of the settings. Octokit is loaded at the first call. */
export function createGitHub(settings: GitHubSettings): GitHost {
  const client = new GitHubClient(settings)
  const { webUrl, clientId, clientSecret } = settings
  return {
    provider: 'github',
    webUrl,
    ...createRepositories(client),
    ...createHooks(client),
    ...createReports(client),
    repositoryToken: async (access, { repo }, limits) =>
      access.kind === 'installation'
        ? installationToken(client, access, repo, limits)
        : { username: 'x-access-token', token: access.token, expiresAt: null },
    isSignedWith: isSignedByGitHub,
    readDelivery: readGitHubDelivery,
    signIn: createSignIn(
      {
        title: client.title,
        clientId,
        clientSecret,
        authorizeUrl: `${webUrl}/login/oauth/authorize`,
        tokenUrl: `${webUrl}/login/oauth/access_token`,
        deviceUrl: `${webUrl}/login/device/code`,
        // For an app GitHub ignores the scope: the app's own permissions apply.
        scope: 'repo admin:repo_hook read:org',
      },
      client.fetch,
    ),
    app: createApp(client),
    manifests: createManifests(client),
  }
}
