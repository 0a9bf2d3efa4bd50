import type { Secret } from '../../../platform/secrets/secret.ts'
import { invalidResponse } from '../answer-parts.ts'
import type { GitHost, HookSettings } from '../git-host.ts'
import { createSignIn } from '../oauth2.ts'
import { Fields } from '../payload.ts'
import { openPullRequests } from '../read-delivery.ts'
import { RestClient } from '../rest-client.ts'
import { isSignedByGitLab, mergeRequestFrom, readGitLabDelivery } from './gitlab-deliveries.ts'
import { createRepositories, projectPath } from './gitlab-repositories.ts'
import { hookFrom } from './gitlab-shapes.ts'

export interface GitLabSettings {
  webUrl: string
  clientId: string | null
  clientSecret: Secret | null
}

/** GitLab, by its REST API v4: gitlab.com or a self-managed instance. It has no apps; access is by a user's account only. */
export function createGitLab({ webUrl, clientId, clientSecret }: GitLabSettings): GitHost {
  const title = `GitLab (${new URL(webUrl).host})`
  const client = new RestClient({
    title,
    webUrl,
    apiUrl: `${webUrl}/api/v4`,
    perPage: 100,
    perPageName: 'per_page',
    lastPage: (headers) => Number(headers.get('x-total-pages') ?? 1) || 1,
  })
  return {
    provider: 'gitlab',
    webUrl,
    ...createRepositories(client),
    ...createHooks(client),
    ...createReports(client),
    repositoryToken: async (access) => {
      if (access.kind !== 'token') throw new Error('GitLab has no apps')
      return { username: 'oauth2', token: access.token, expiresAt: null }
    },
    isSignedWith: isSignedByGitLab,
    readDelivery: readGitLabDelivery,
    signIn: createSignIn(
      {
        title,
        clientId,
        clientSecret,
        authorizeUrl: `${webUrl}/oauth/authorize`,
        tokenUrl: `${webUrl}/oauth/token`,
        deviceUrl: `${webUrl}/oauth/authorize_device`,
        scope: 'api',
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
    url,
    token: secret.reveal(),
    push_events: true,
    merge_requests_events: true,
    enable_ssl_verification: true,
  })
  return {
    hooks: (access, name, limits) =>
      client.request(access, limits, (call) => call.list({ path: `${projectPath(name)}/hooks`, from })),
    createHook: (access, name, hook, limits) =>
      client.request(access, limits, async (call) => from(await call.send('POST', `${projectPath(name)}/hooks`, body(hook)))),
    changeHook: (access, name, id, hook, limits) =>
      client.request(access, limits, async (call) =>
        from(await call.send('PUT', `${projectPath(name)}/hooks/${id}`, body(hook))),
      ),
    deleteHook: (access, name, id, limits) =>
      client.request(access, limits, async (call) => void (await call.send('DELETE', `${projectPath(name)}/hooks/${id}`))),
  }
}

const states = { pending: 'pending', success: 'success', failure: 'failed', error: 'failed' } as const

function createReports(client: RestClient): Pick<GitHost, 'pullRequests' | 'setCommitStatus' | 'comment'> {
  return {
    pullRequests: (access, name, limits) =>
      client.request(access, limits, async (call) => {
        const list = await call.get(`${projectPath(name)}/merge_requests`, { state: 'opened', per_page: 100 })
        const read = (value: Fields) => mergeRequestFrom({ id: null, repository: name }, value)
        return openPullRequests(list, read) ?? invalidResponse(client.title, 'a list')
      }),
    setCommitStatus: (access, name, commit, { state, description, context, targetUrl }, limits) =>
      client.request(access, limits, async (call) => {
        const status = { state: states[state], name: context, description: description.slice(0, 140) }
        await call.send('POST', `${projectPath(name)}/statuses/${commit}`, {
          ...status,
          ...(targetUrl ? { target_url: targetUrl } : {}),
        })
      }),
    comment: (access, name, number, { marker, text }, limits) =>
      client.request(access, limits, async (call) => {
        const hidden = `<!-- ${marker.replace(/--+>?/g, '-')} -->`
        const path = `${projectPath(name)}/merge_requests/${number}/notes`
        const notes = await call.list({ path, from: (value) => new Fields(value) })
        const ours = notes.find((note) => note.text('body')?.startsWith(hidden))?.integer('id')
        const body = { body: `${hidden}\n${text}` }
        await (ours ? call.send('PUT', `${path}/${ours}`, body) : call.send('POST', path, body))
      }),
  }
}
