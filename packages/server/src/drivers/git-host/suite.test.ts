import { startGiteaHost } from '../../../../../tests/kit/git-hosts/gitea-host.ts'
import { startGitHubHost, tokens } from '../../../../../tests/kit/git-hosts/github-host.ts'
import { startGitLabHost } from '../../../../../tests/kit/git-hosts/gitlab-host.ts'
import type { PlainHost } from '../../../../../tests/kit/git-hosts/plain-host.ts'
import type { Answer, Call } from '../../../../../tests/kit/git-hosts/web-app.ts'
import { Secret } from '../../platform/secrets/secret.ts'
import type { GitHost } from './git-host.ts'
import { createGitea } from './gitea/gitea.ts'
import { createGitHub } from './github/github.ts'
import { createGitLab } from './gitlab/gitlab.ts'
import { describeGitHost, type SuiteHost } from './suite.ts'

/** Reads are redirected with 301, writes with 307, as GitHub and Gitea do. */
const renaming =
  (url: string, from: string, to: string) =>
  ({ method, path, query }: Call): Answer | undefined => {
    const moved = path.replace(`/${from}`, `/${to}`).replace(encodeURIComponent(from), encodeURIComponent(to))
    if (moved === path) return undefined
    return { status: method === 'GET' ? 301 : 307, headers: { location: `${url}${moved}${query.size > 0 ? `?${query}` : ''}` } }
  }

const plain = (server: PlainHost, host: GitHost, openRequests: unknown[]): SuiteHost => ({
  host,
  annsToken: 'ann-token',
  createRepository: server.createRepository,
  statuses: server.statuses,
  hooks: server.hooks,
  comments: async (name, number) =>
    server.comments.filter((one) => one.repository === name && one.number === number).map(({ body }) => body),
  openPullRequest: async () => 7,
  openRequests,
  rename: (from, to) => {
    server.intercept = renaming(server.url, from, to)
  },
  intercept: (answer) => {
    server.intercept = answer && (() => answer)
  },
  answered: () => server.calls.map(({ status }) => status),
  close: server.close,
})
const settingsOf = ({ url, client }: PlainHost) => ({ webUrl: url, clientId: client.id, clientSecret: new Secret(client.secret) })

const commits = ['d'.repeat(40), 'e'.repeat(40), null]
const pullRequests = commits.map((sha, at) => ({
  ...{ number: 7 + at, title: 'x', html_url: 'http://host/x', user: { login: 'bo' }, updated_at: '2026-01-02T03:04:05Z' },
  head: { ref: 'feature', sha, repo: { id: at === 1 ? 2 : 1, full_name: 'acme/shop' } },
  base: { ref: 'main', repo: { id: 1 } },
}))
const mergeRequests = commits.map((sha, at) => ({
  ...{ iid: 7 + at, title: 'x', web_url: 'http://host/x', author: { username: 'bo' }, updated_at: '2026-01-02T03:04:05Z' },
  ...{ source_branch: 'feature', target_branch: 'main', sha, source_project_id: at === 1 ? 2 : 1, target_project_id: 1 },
}))

describeGitHost('GitLab', async () => {
  const server = await startGitLabHost()
  return plain(server, createGitLab(settingsOf(server)), mergeRequests)
})

describeGitHost('Gitea', async () => {
  const server = await startGiteaHost()
  return plain(server, createGitea(settingsOf(server)), pullRequests)
})

describeGitHost('GitHub', async () => {
  const server = await startGitHubHost()
  const api = async (path: string, body?: object) => {
    const headers = { authorization: `Bearer ${tokens.ann}`, 'content-type': 'application/json' }
    const response = await fetch(`${server.url}${path}`, {
      headers,
      ...(body ? { method: 'POST', body: JSON.stringify(body) } : {}),
    })
    return response.json()
  }
  const none = { appId: null, privateKey: null, appSlug: null, clientId: null, clientSecret: null }
  return {
    host: createGitHub({ apiUrl: server.url, webUrl: server.url, ...none }),
    annsToken: tokens.ann,
    createRepository: server.createRepository,
    statuses: server.statuses,
    hooks: server.hooks,
    comments: async (name, number) =>
      ((await api(`/repos/${name}/issues/${number}/comments`)) as { body: string }[]).map(({ body }) => body),
    openRequests: pullRequests,
    openPullRequest: async (name) => ((await api(`/repos/${name}/issues`, { title: 'x' })) as { number: number }).number,
    rename: (from, to) => {
      server.intercept = renaming(server.url, from, to)
    },
    intercept: (answer) => {
      server.intercept = answer && (() => answer)
    },
    answered: () => server.calls.map(({ status }) => status),
    close: server.close,
  }
})
