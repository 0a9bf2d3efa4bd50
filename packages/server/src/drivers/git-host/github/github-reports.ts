import { invalidResponse } from '../answer-parts.ts'
import type { GitHost } from '../git-host.ts'
import { Fields } from '../payload.ts'
import { openPullRequests } from '../read-delivery.ts'
import type { GitHubClient } from './github-client.ts'
import { pullRequestFrom } from './github-deliveries.ts'

type Reports = Pick<GitHost, 'pullRequests' | 'setCommitStatus' | 'comment'>

/** Open pull requests, commit statuses and comments at GitHub. */
export function createReports(client: GitHubClient): Reports {
  return {
    pullRequests: (access, { owner, repo }, limits) =>
      client.request(access, limits, async (octokit, signal) => {
        const query = { state: 'open' as const, per_page: 100, request: { signal } }
        const { data } = await octokit.rest.pulls.list({ owner, repo, ...query })
        const read = (value: Fields) => pullRequestFrom({ id: null, repository: { owner, repo } }, value, 'opened')
        return openPullRequests(data, read) ?? invalidResponse(client.title, 'a list')
      }),
    setCommitStatus: (access, { owner, repo }, sha, { state, description, context, targetUrl }, limits) =>
      client.request(access, limits, async (octokit, signal) => {
        await octokit.rest.repos.createCommitStatus({
          ...{ owner, repo, sha, state, context, description: description.slice(0, 140) },
          ...(targetUrl ? { target_url: targetUrl } : {}),
          request: { signal },
        })
      }),
    comment: (access, { owner, repo }, issue_number, { marker, text }, limits) =>
      client.request(access, limits, async (octokit, signal) => {
        const hidden = `<!-- ${marker.replace(/--+>?/g, '-')} -->`
        const body = `${hidden}\n${text}`
        const at = { owner, repo, request: { signal } }
        const { data } = await octokit.rest.issues.listComments({ ...at, issue_number, per_page: 100 })
        const ours = data.find((comment) => new Fields(comment).text('body')?.startsWith(hidden))
        if (ours) await octokit.rest.issues.updateComment({ ...at, comment_id: ours.id, body })
        else await octokit.rest.issues.createComment({ ...at, issue_number, body })
      }),
  }
}
