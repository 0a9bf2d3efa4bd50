import type { Secret } from '../../../platform/secrets/secret.ts'
import { invalidResponse } from '../answer-parts.ts'
import type { GitHost, HookSettings } from '../git-host.ts'
import { pullRequestFrom } from '../github/github-deliveries.ts'
import { accountFrom, hookFrom, repositoryFrom } from '../github/github-shapes.ts'
import { createSignIn } from '../oauth2.ts'
import { Fields } from '../payload.ts'
import { openPullRequests } from '../read-delivery.ts'
import { RestClient } from '../rest-client.ts'
import { isSignedByGitea, readGiteaDelivery } from './gitea-deliveries.ts'
import { createRepositories } from './gitea-repositories.ts'
import { repositoryPath } from './repository-path.ts'

export interface GiteaSettings {
  webUrl: string
  clientId: string | null
  clientSecret: Secret | null
}

/** Gitea and Forgejo, by their common API v1. They have no apps and no device login: access is by a user's account only. */
export function createGitea({ webUrl, clientId, clientSecret }: GiteaSettings): GitHost {
  const title = `Gitea (${new URL(webUrl).host})`
  const perPage = 50
  const client = new RestClient({
    title,
    webUrl,
    apiUrl: `${webUrl}/api/v1`,
    perPage,
    perPageName: 'limit',
    lastPage: (headers) => Math.ceil(Number(headers.get('x-total-count') ?? 0) / perPage) || 1,
  })
  return {
    provider: 'gitea',
    webUrl,
    account: (access, limits) => client.request(access, limits, async (call) => accountFrom(await call.get('/user'), title)),
    ...createRepositories(client, (value) => repositoryFrom(value, title, webUrl)),
    ...createHooks(client),
    ...createReports(client),
    repositoryToken: async (access) => {
      if (access.kind !== 'token') throw new Error('Gitea has no apps')
      return { username: 'oauth2', token: access.token, expiresAt: null }
    },
    isSignedWith: isSignedByGitea,
    readDelivery: readGiteaDelivery,
    signIn: createSignIn(
      {
        title,
        clientId,
        clientSecret,
        authorizeUrl: `${webUrl}/login/oauth/authorize`,
        tokenUrl: `${webUrl}/login/oauth/access_token`,
        deviceUrl: null,
        scope: '',
      },
      client.fetch,
    ),
    app: null,
    manifests: null,
  }
}

function createHooks(client: RestClient): Pick<GitHost, 'hooks' | 'createHook' | 'changeHook' | 'deleteHook'> {
  const from = (value: unknown) => hookFrom(value, client.title)
  const body = ({ url, secret }: HookSettings) => ({
    active: true,
    events: ['push', 'pull_request', 'pull_request_sync'],
    config: { url, content_type: 'json', secret: secret.reveal() },
  })
  return {
    hooks: (access, name, limits) =>
      client.request(access, limits, (call) => call.list({ path: `${repositoryPath(name)}/hooks`, from })),
    createHook: (access, name, hook, limits) =>
      client.request(access, limits, async (call) =>
        from(await call.send('POST', `${repositoryPath(name)}/hooks`, { type: 'gitea', ...body(hook) })),
      ),
    changeHook: (access, name, id, hook, limits) =>
      client.request(access, limits, async (call) =>
        from(await call.send('PATCH', `${repositoryPath(name)}/hooks/${id}`, body(hook))),
      ),
    deleteHook: (access, name, id, limits) =>
      client.request(access, limits, async (call) => void (await call.send('DELETE', `${repositoryPath(name)}/hooks/${id}`))),
  }
}

function createReports(client: RestClient): Pick<GitHost, 'pullRequests' | 'setCommitStatus' | 'comment'> {
  return {
    pullRequests: (access, name, limits) =>
      client.request(access, limits, async (call) => {
        const list = await call.get(`${repositoryPath(name)}/pulls`, { state: 'open', sort: 'newest', limit: 50 })
        const read = (value: Fields) => pullRequestFrom({ id: null, repository: name }, value, 'opened')
        return openPullRequests(list, read) ?? invalidResponse(client.title, 'a list')
      }),
    setCommitStatus: (access, name, commit, { state, description, context, targetUrl }, limits) =>
      client.request(access, limits, async (call) => {
        const status = { state, context, description: description.slice(0, 140) }
        await call.send('POST', `${repositoryPath(name)}/statuses/${commit}`, {
          ...status,
          ...(targetUrl ? { target_url: targetUrl } : {}),
        })
      }),
    comment: (access, name, number, { marker, text }, limits) =>
      client.request(access, limits, async (call) => {
        const hidden = `<!-- ${marker.replace(/--+>?/g, '-')} -->`
        const path = `${repositoryPath(name)}/issues`
        const comments = await call.list({ path: `${path}/${number}/comments`, from: (value) => new Fields(value) })
        const existingId = comments.find((comment) => comment.text('body')?.startsWith(hidden))?.integer('id')
        const body = { body: `${hidden}\n${text}` }
        await (existingId
          ? call.send('PATCH', `${path}/comments/${existingId}`, body)
          : call.send('POST', `${path}/${number}/comments`, body))
      }),
  }
}
