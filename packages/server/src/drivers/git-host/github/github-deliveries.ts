import type { Secret } from '../../../platform/secrets/secret.ts'
import { type Delivery, type DeliveryHeaders, headerOf, type PullRequestDelivery } from '../delivery.ts'
import { type Fields, isHmacOf, parseRepositoryName, payloadOf } from '../payload.ts'
import { type DeliverySource, pullRequestOf, pushOf } from '../read-delivery.ts'

export function isSignedByGitHub(secret: Secret, headers: DeliveryHeaders, rawBody: Buffer): boolean {
  const given = /^sha256=([0-9a-f]{64})$/i.exec(headerOf(headers, 'x-hub-signature-256') ?? '')?.[1] ?? null
  return isHmacOf(rawBody, secret, given)
}

export function readGitHubDelivery(headers: DeliveryHeaders, rawBody: Buffer): Delivery | null {
  const event = headerOf(headers, 'x-github-event')
  const body = payloadOf(headers, rawBody)
  if (!event || !body) return null
  const about = {
    id: headerOf(headers, 'x-github-delivery'),
    repository: parseRepositoryName(body.in('repository').text('full_name')),
  }
  const read = readers.get(event)
  return read ? read(about, body) : { ...about, kind: 'ignored', reason: `The event ${event.slice(0, 100)} is not handled` }
}

const readers = new Map<string, (about: DeliverySource, body: Fields) => Delivery | null>([
  ['ping', (about) => ({ ...about, kind: 'ping' })],
  ['push', readPush],
  ['pull_request', readPullRequest],
  ['installation', readInstallation],
])

function readPush(about: DeliverySource, body: Fields): Delivery | null {
  const head = body.in('head_commit')
  return pushOf(about, {
    ref: body.text('ref'),
    isDeleted: body.isTrue('deleted'),
    after: body.text('after'),
    defaultBranch: body.in('repository').text('default_branch'),
    head: () => ({
      message: head.text('message'),
      author: head.in('author').text('name') ?? body.in('pusher').text('name'),
    }),
  })
}

const actions = new Map<string, 'opened' | 'updated' | 'closed'>([
  ['opened', 'opened'],
  ['reopened', 'opened'],
  ['synchronize', 'updated'],
  ['closed', 'closed'],
])

function readPullRequest(about: DeliverySource, body: Fields): Delivery | null {
  return pullRequestFrom(about, body.in('pull_request'), actions.get(body.text('action') ?? ''))
}

/** A pull request of a delivery or of a list. Gitea uses the same form. */
export function pullRequestFrom(
  about: DeliverySource,
  request: Fields,
  action: PullRequestDelivery['action'] | undefined,
): Delivery | null {
  const [head, base] = [request.in('head'), request.in('base')]
  return pullRequestOf(about, {
    noun: 'pull request',
    action,
    number: request.integer('number'),
    title: request.text('title'),
    htmlUrl: request.text('html_url'),
    author: request.in('user').text('login'),
    changedAt: request.text('updated_at'),
    branch: head.text('ref'),
    commit: head.text('sha'),
    targetBranch: base.text('ref'),
    from: head.in('repo').integer('id'),
    to: base.in('repo').integer('id'),
    sourceRepository: head.in('repo').text('full_name'),
  })
}

const installationKinds = {
  deleted: 'installation_deleted',
  suspend: 'installation_suspended',
  unsuspend: 'installation_resumed',
} as const

function readInstallation(about: DeliverySource, body: Fields): Delivery | null {
  const action = body.text('action') ?? ''
  const installation = body.in('installation')
  const installationId = installation.integer('id')
  if (installationId === null) return null
  if (!Object.hasOwn(installationKinds, action))
    return { ...about, kind: 'ignored', reason: 'The installation was neither removed nor suspended' }
  const kind = installationKinds[action as keyof typeof installationKinds]
  return { ...about, kind, installationId, account: installation.in('account').text('login') }
}
