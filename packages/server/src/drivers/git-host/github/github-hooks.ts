import type { GitHost } from '../git-host.ts'
import type { GitHubClient } from './github-client.ts'
import { readList } from './github-lists.ts'
import { hookFrom } from './github-shapes.ts'

type Hooks = Pick<GitHost, 'hooks' | 'createHook' | 'changeHook' | 'deleteHook'>

const events = ['push', 'pull_request']

export function createHooks(client: GitHubClient): Hooks {
  const { title } = client
  const config = ({ url, secret }: { url: string; secret: { reveal(): string } }) => ({
    url,
    content_type: 'json',
    insecure_ssl: '0',
    secret: secret.reveal(),
  })
  return {
    hooks: (access, { owner, repo }, limits) =>
      client.request(access, limits, (octokit, signal) =>
        readList(
          { route: 'GET /repos/{owner}/{repo}/hooks', parameters: { owner, repo }, from: (value) => hookFrom(value, title) },
          { octokit, signal, pages: client.pages, credentialId: access.id, title },
        ),
      ),
    createHook: (access, { owner, repo }, hook, limits) =>
      client.request(access, limits, async (octokit, signal) => {
        const { data } = await octokit.rest.repos.createWebhook({
          owner,
          repo,
          name: 'web',
          active: true,
          events,
          config: config(hook),
          request: { signal },
        })
        return hookFrom(data, title)
      }),
    changeHook: (access, { owner, repo }, hook_id, hook, limits) =>
      client.request(access, limits, async (octokit, signal) => {
        const { data } = await octokit.rest.repos.updateWebhook({
          owner,
          repo,
          hook_id,
          active: true,
          events,
          config: config(hook),
          request: { signal },
        })
        return hookFrom(data, title)
      }),
    deleteHook: (access, { owner, repo }, hook_id, limits) =>
      client.request(access, limits, async (octokit, signal) => {
        await octokit.rest.repos.deleteWebhook({ owner, repo, hook_id, request: { signal } })
      }),
  }
}
