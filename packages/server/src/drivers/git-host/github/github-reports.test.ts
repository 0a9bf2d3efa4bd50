import type { Octokit } from 'octokit'
import { expect, test, vi } from 'vitest'
import { Secret } from '../../../platform/secrets/secret.ts'
import { PageCache } from '../page-cache.ts'
import type { GitHubClient, OctokitWork } from './github-client.ts'
import { createReports } from './github-reports.ts'

/** A client whose pull request has these comments, with ids from 1. */
function clientWith(bodies: readonly string[]) {
  const lastPage = Math.ceil(bodies.length / 100)
  const issues = { updateComment: vi.fn(async () => ({})), createComment: vi.fn(async () => ({})) }
  const octokit = {
    request: async (_route: string, { page }: { page: number }) => ({
      data: bodies.map((body, at) => ({ id: at + 1, body })).slice((page - 1) * 100, page * 100),
      headers: { link: page < lastPage ? `<https://host/comments?page=${lastPage}>; rel="last"` : undefined },
    }),
    rest: { issues },
  } as unknown as Octokit
  const request = (_access: unknown, _limits: unknown, work: OctokitWork) => work(octokit, new AbortController().signal)
  const client = { title: 'GitHub', pages: new PageCache(), request } as unknown as GitHubClient
  return { reports: createReports(client), issues }
}

const access = { kind: 'token', id: 'cred_1', token: new Secret('token') } as const
const repository = { owner: 'acme', repo: 'shop' }
const others = (count: number) => Array.from({ length: count }, (_, at) => `comment ${at}`)

test('the comment of a marker is updated, also behind the first page of comments', async () => {
  const { reports, issues } = clientWith([...others(130), '<!-- berth prj_1 -->\nbuilding', ...others(90)])
  await reports.comment(access, repository, 7, { marker: 'berth prj_1', text: 'live' })
  expect(issues.createComment).not.toHaveBeenCalled()
  expect(issues.updateComment).toHaveBeenCalledExactlyOnceWith(
    expect.objectContaining({ ...repository, comment_id: 131, body: '<!-- berth prj_1 -->\nlive' }),
  )
})

test('a comment is created if only other comments contain the marker later in their text', async () => {
  const { reports, issues } = clientWith(['quoted: <!-- berth prj_1 -->', '<!-- berth prj_2 -->\nlive'])
  await reports.comment(access, repository, 7, { marker: 'berth prj_1', text: 'live' })
  expect(issues.updateComment).not.toHaveBeenCalled()
  expect(issues.createComment).toHaveBeenCalledExactlyOnceWith(
    expect.objectContaining({ ...repository, issue_number: 7, body: '<!-- berth prj_1 -->\nlive' }),
  )
})
