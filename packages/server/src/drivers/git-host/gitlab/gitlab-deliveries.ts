import type { Secret } from '../../../platform/secrets/secret.ts'
import { constantTimeEqual } from '../../../platform/secrets/token.ts'
import { type Delivery, type DeliveryHeaders, headerOf } from '../delivery.ts'
import { Fields, parseRepositoryName, payloadOf } from '../payload.ts'
import { type DeliverySource, isZeroCommit, pullRequestOf, pushOf } from '../read-delivery.ts'

/** GitLab does not sign deliveries: it sends the secret itself. */
export function isSignedByGitLab(secret: Secret, headers: DeliveryHeaders): boolean {
  const given = headerOf(headers, 'x-gitlab-token')
  return given !== null && constantTimeEqual(given, secret.reveal())
}

export function readGitLabDelivery(headers: DeliveryHeaders, rawBody: Buffer): Delivery | null {
  const body = payloadOf(headers, rawBody)
  const kind = body?.text('object_kind')
  if (!body || !kind || !headerOf(headers, 'x-gitlab-event')) return null
  const about = {
    id: headerOf(headers, 'idempotency-key') ?? headerOf(headers, 'x-gitlab-event-uuid'),
    repository: parseRepositoryName(body.in('project').text('path_with_namespace')),
  }
  if (kind === 'push') return readPush(about, body)
  if (kind === 'merge_request') return readMergeRequest(about, body)
  return { ...about, kind: 'ignored', reason: `The event ${kind.slice(0, 100)} is not handled` }
}

function readPush(about: DeliverySource, body: Fields): Delivery | null {
  const after = body.text('after')
  return pushOf(about, {
    ref: body.text('ref'),
    isDeleted: isZeroCommit(after),
    after,
    defaultBranch: body.in('project').text('default_branch'),
    head: (commit) => {
      const commits = body.value('commits')
      const head = new Fields(Array.isArray(commits) ? commits.find((one) => new Fields(one).text('id') === commit) : null)
      return { message: head.text('message'), author: head.in('author').text('name') ?? body.text('user_name') }
    },
  })
}

const actions = new Map<string, 'opened' | 'updated' | 'closed'>([
  ['open', 'opened'],
  ['reopen', 'opened'],
  ['update', 'updated'],
  ['close', 'closed'],
  ['merge', 'closed'],
])

/** An open merge request of a list, whose fields differ from those of a delivery. */
export function mergeRequestFrom(about: DeliverySource, request: Fields): Delivery | null {
  return pullRequestOf(about, {
    noun: 'merge request',
    action: 'opened',
    number: request.integer('iid'),
    title: request.text('title'),
    htmlUrl: request.text('web_url'),
    author: request.in('author').text('username'),
    changedAt: request.text('updated_at'),
    branch: request.text('source_branch'),
    commit: request.text('sha'),
    targetBranch: request.text('target_branch'),
    from: request.integer('source_project_id'),
    to: request.integer('target_project_id'),
    sourceRepository: null,
  })
}

function readMergeRequest(about: DeliverySource, body: Fields): Delivery | null {
  const request = body.in('object_attributes')
  const action = actions.get(request.text('action') ?? '')
  return pullRequestOf(about, {
    noun: 'merge request',
    // An update with new commits names the previous one; any other update changes only its text.
    action: action === 'updated' && !request.has('oldrev') ? undefined : action,
    number: request.integer('iid'),
    title: request.text('title'),
    htmlUrl: request.text('url'),
    author: body.in('user').text('username'),
    changedAt: request.text('updated_at'),
    branch: request.text('source_branch'),
    commit: request.in('last_commit').text('id'),
    targetBranch: request.text('target_branch'),
    from: request.integer('source_project_id'),
    to: request.integer('target_project_id'),
    sourceRepository: request.in('source').text('path_with_namespace'),
  })
}
