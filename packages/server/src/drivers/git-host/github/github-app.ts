import { Secret } from '../../../platform/secrets/secret.ts'
import { invalidResponse } from '../answer-parts.ts'
import type { Access, HostApp, Installation, RepositoryToken } from '../git-host.ts'
import { GitHostError } from '../git-host-error.ts'
import { Fields } from '../payload.ts'
import type { GitHubClient } from './github-client.ts'
import { accountFrom } from './github-shapes.ts'

export function createApp(client: GitHubClient): HostApp | null {
  const { appId, privateKey, webUrl } = client.settings
  if (!appId || !privateKey) return null
  let slug = client.settings.appSlug
  return {
    async installUrl(limits) {
      slug ??= await client.request('app', limits, async (octokit, signal) => {
        const { data } = await octokit.request('GET /app', { request: { signal } })
        return new Fields(data).text('slug') ?? invalidResponse(client.title, 'an app')
      })
      return `${webUrl}/apps/${encodeURIComponent(slug)}/installations/new`
    },
    installation: (id, limits) =>
      client.request('app', limits, async (octokit, signal) => {
        const { data } = await octokit.rest.apps.getInstallation({ installation_id: id, request: { signal } })
        return installationFrom(data, client.title)
      }),
    hasInstallation: (id, limits) =>
      client.request('app', limits, async (octokit, signal) => {
        const { data } = await octokit.request('GET /app', { request: { signal } })
        if (new Fields(data).integer('id') !== appId) return invalidResponse(client.title, 'an app')
        return octokit.rest.apps.getInstallation({ installation_id: id, request: { signal } }).then(
          () => true,
          (error: unknown) => {
            if (error instanceof Error && 'status' in error && error.status === 404) return false
            throw error
          },
        )
      }),
    isAdministeredBy: (token, { account, id }, limits) =>
      client.request({ kind: 'token', id: `installer of ${id}`, token }, limits, async (octokit, signal) => {
        const { data } = await octokit.request('GET /user', { request: { signal } })
        if (account.type === 'user') return accountFrom(data, client.title).id === account.id
        const membership = await octokit
          .request('GET /user/memberships/orgs/{org}', { org: account.login, request: { signal } })
          .catch((error: unknown) => {
            if (error instanceof Error && 'status' in error && (error.status === 404 || error.status === 403)) return null
            throw error
          })
        const fields = new Fields(membership?.data)
        return fields.text('state') === 'active' && fields.text('role') === 'admin'
      }),
  }
}

function installationFrom(data: unknown, title: string): Installation {
  const fields = new Fields(data)
  const id = fields.integer('id')
  if (id === null) return invalidResponse(title, 'an installation')
  return { id, account: accountFrom((data as { account?: unknown }).account, title), suspended: fields.has('suspended_at') }
}

/** A read-only token for one repository, valid for an hour: GitHub creates no shorter ones. */
export function installationToken(
  client: GitHubClient,
  access: Extract<Access, { kind: 'installation' }>,
  repo: string,
  limits: Parameters<GitHubClient['request']>[1],
): Promise<RepositoryToken> {
  return client.request('app', limits, async (octokit, signal) => {
    const { data } = await octokit.rest.apps
      .createInstallationAccessToken({
        installation_id: access.installationId,
        repositories: [repo],
        permissions: { contents: 'read', metadata: 'read' },
        request: { signal },
      })
      .catch((error: unknown) => {
        // GitHub's status for a repository that the installation cannot access.
        if (error instanceof Error && 'status' in error && error.status === 422)
          throw new GitHostError('not_found', `${client.title}: the app is not installed on this repository`, { status: 422 })
        throw error
      })
    const expires = Date.parse(data.expires_at)
    if (!data.token || Number.isNaN(expires)) return invalidResponse(client.title, 'a token')
    return { username: 'x-access-token', token: new Secret(data.token), expiresAt: new Date(expires) }
  })
}
