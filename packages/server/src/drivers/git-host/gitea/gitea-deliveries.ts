import type { Secret } from '../../../platform/secrets/secret.ts'
import { type Delivery, type DeliveryHeaders, headerOf } from '../delivery.ts'
import { type Fields, isHmacOf, parseRepositoryName, payloadOf } from '../payload.ts'
import { type DeliverySource, isZeroCommit, pullRequestOf, pushOf } from '../read-delivery.ts'

/** Forgejo sends the same headers under its own name as well. */
const header = (headers: DeliveryHeaders, name: string) =>
  headerOf(headers, `x-gitea-${name}`) ?? headerOf(headers, `x-forgejo-${name}`)

export function isSignedByGitea(secret: Secret, headers: DeliveryHeaders, rawBody: Buffer): boolean {
  const given = header(headers, 'signature')
  return isHmacOf(rawBody, secret, given && /^[0-9a-f]{64}$/i.test(given) ? given : null)
}

export function readGiteaDelivery(headers: DeliveryHeaders, rawBody: Buffer): Delivery | null {
  const event = header(headers, 'event')
  const body = payloadOf(headers, rawBody)
  if (!event || !body) return null
  const about = { id: header(headers, 'delivery'), repository: parseRepositoryName(body.in('repository').text('full_name')) }
  if (event === 'push') return readPush(about, body)
  if (event === 'pull_request' || event === 'pull_request_sync') return readPullRequest(about, body)
  return { ...about, kind: 'ignored', reason: `The event ${event.slice(0, 100)} is not handled` }
}

function readPush(about: DeliverySource, body: Fields): Delivery | null {
  const head = body.in('head_commit')
  const after = body.text('after')
  return pushOf(about, {
    ref: body.text('ref'),
    isDeleted: isZeroCommit(after),
    after,
    defaultBranch: body.in('repository').text('default_branch'),
    head: () => ({
      message: head.text('message'),
      author: head.in('author').text('name') ?? body.in('pusher').text('login'),
    }),
  })
}

const actions = new Map<string, 'opened' | 'updated' | 'closed'>([
  ['opened', 'opened'],
  ['reopened', 'opened'],
  ['synchronized', 'updated'],
  ['closed', 'closed'],
])

function readPullRequest(about: DeliverySource, body: Fields): Delivery | null {
  const request = body.in('pull_request')
  const [head, base] = [request.in('head'), request.in('base')]
  return pullRequestOf(about, {
    noun: 'pull request',
    action: actions.get(body.text('action') ?? ''),
    number: request.integer('number') ?? body.integer('number'),
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
