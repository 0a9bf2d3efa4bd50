import type { Secret } from '../../../platform/secrets/secret.ts'
import { constantTimeEqual } from '../../../platform/secrets/token.ts'
import { type Delivery, type DeliveryHeaders, headerOf } from '../delivery.ts'
import { branchOf, commitOf, Fields, nameOf } from '../payload.ts'

/** GitLab signs nothing: it sends the secret itself. */
export function isSignedByGitLab(secret: Secret, headers: DeliveryHeaders): boolean {
  const given = headerOf(headers, 'x-gitlab-token')
  return given !== null && constantTimeEqual(given, secret.reveal())
}

type About = Pick<Delivery, 'id' | 'repository'>

export function readGitLabDelivery(headers: DeliveryHeaders, rawBody: Buffer): Delivery | null {
  const body = Fields.of(rawBody)
  const kind = body?.text('object_kind')
  if (!body || !kind || !headerOf(headers, 'x-gitlab-event')) return null
  const about = {
    id: headerOf(headers, 'idempotency-key') ?? headerOf(headers, 'x-gitlab-event-uuid'),
    repository: nameOf(body.in('project').text('path_with_namespace')),
  }
  if (kind === 'push') return readPush(about, body)
  if (kind === 'merge_request') return readMergeRequest(about, body)
  return { ...about, kind: 'ignored', reason: `Nothing happens on ${kind.slice(0, 100)}` }
}

function readPush(about: About, body: Fields): Delivery | null {
  const { repository } = about
  const branch = branchOf(body.text('ref'))
  if (!repository) return null
  if (!branch) return { ...about, kind: 'ignored', reason: 'Not a branch was pushed' }
  const after = body.text('after')
  if (after && /^0+$/.test(after)) return { ...about, kind: 'ignored', reason: 'The branch was deleted' }
  const commit = commitOf(after)
  if (!commit) return null
  const commits = body.value('commits')
  const head = new Fields(Array.isArray(commits) ? commits.find((one) => new Fields(one).text('id') === commit) : null)
  return {
    ...about,
    repository,
    kind: 'push',
    branch,
    defaultBranch: body.in('project').text('default_branch'),
    commit,
    message: head.text('message') ?? '',
    author: head.in('author').text('name') ?? body.text('user_name'),
  }
}

const actions: Record<string, 'opened' | 'updated' | 'closed'> = {
  open: 'opened',
  reopen: 'opened',
  update: 'updated',
  close: 'closed',
  merge: 'closed',
}

function readMergeRequest(about: About, body: Fields): Delivery | null {
  const { repository } = about
  const request = body.in('object_attributes')
  const action = actions[request.text('action') ?? '']
  if (!repository) return null
  // An update with new commits names the one before; any other is about its words.
  if (!action || (action === 'updated' && !request.has('oldrev')))
    return { ...about, kind: 'ignored', reason: 'The merge request has no new commits and was not closed' }
  const [number, branch, targetBranch] = [request.whole('iid'), request.text('source_branch'), request.text('target_branch')]
  const commit = commitOf(request.in('last_commit').text('id'))
  if (number === null || !branch || !targetBranch || !commit) return null
  const [from, to] = [request.whole('source_project_id'), request.whole('target_project_id')]
  return {
    ...about,
    repository,
    kind: 'pull_request',
    action,
    number,
    title: request.text('title') ?? '',
    htmlUrl: request.text('url'),
    author: body.in('user').text('username'),
    branch,
    commit,
    targetBranch,
    fromFork: from === null || from !== to,
    sourceRepository: nameOf(request.in('source').text('path_with_namespace')),
  }
}
