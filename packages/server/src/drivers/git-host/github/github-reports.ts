import { invalidResponse } from '../answer-parts.ts'
import type { GitHost } from '../git-host.ts'
import { Fields } from '../payload.ts'
import { openPullRequests } from '../read-delivery.ts'
import type { GitHubClient } from './github-client.ts'
import { pullRequestFrom } from './github-deliveries.ts'
import { readList } from './github-lists.ts'

/** The part of a comment that is compared with a marker: pages of comments are cached, and whole comments can be long. */
const comparedCharacters = 500

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
          owner,
          repo,
          sha,
          state,
          context,
          description: description.slice(0, 140),
          ...(targetUrl ? { target_url: targetUrl } : {}),
          request: { signal },
        })
      }),
    comment: (access, { owner, repo }, issue_number, { marker, text }, limits) =>
      client.request(access, limits, async (octokit, signal) => {
        const hidden = `<!-- ${marker.replace(/--+>?/g, '-')} -->`
        const body = `${hidden}\n${text}`
        const at = { owner, repo, request: { signal } }
        const comments = await readList(
          {
            route: 'GET /repos/{owner}/{repo}/issues/{issue_number}/comments',
            parameters: { owner, repo, issue_number },
            from: commentFrom,
          },
          { octokit, signal, pages: client.pages, credentialId: access.id, title: client.title },
        )
        const existing = comments.find(({ id, start }) => id !== null && start.startsWith(hidden))
        if (existing) await octokit.rest.issues.updateComment({ ...at, comment_id: existing.id!, body })
        else await octokit.rest.issues.createComment({ ...at, issue_number, body })
      }),
  }
}

function commentFrom(value: unknown): { id: number | null; start: string } {
  const fields = new Fields(value)
  return { id: fields.integer('id'), start: (fields.text('body') ?? '').slice(0, comparedCharacters) }
}
