import type { Secret } from '../../../platform/secrets/secret.ts'
import { type Delivery, type DeliveryHeaders, headerOf } from '../delivery.ts'
import { branchOf, commitOf, Fields, isHmacOf, nameOf } from '../payload.ts'

export function isSignedByGitHub(secret: Secret, headers: DeliveryHeaders, rawBody: Buffer): boolean {
  const given = /^sha256=([0-9a-f]{64})$/i.exec(headerOf(headers, 'x-hub-signature-256') ?? '')?.[1] ?? null
  return isHmacOf(rawBody, secret, given)
}

export function readGitHubDelivery(headers: DeliveryHeaders, rawBody: Buffer): Delivery | null {
  const event = headerOf(headers, 'x-github-event')
  const body = Fields.of(rawBody)
  if (!event || !body) return null
  const about = {
    id: headerOf(headers, 'x-github-delivery'),
    repository: nameOf(body.in('repository').text('full_name')),
  }
  const read = readers[event]
  return read ? read(about, body) : { ...about, kind: 'ignored', reason: `Nothing happens on ${event.slice(0, 100)}` }
}

type About = Pick<Delivery, 'id' | 'repository'>

const readers: Record<string, (about: About, body: Fields) => Delivery | null> = {
  ping: (about) => ({ ...about, kind: 'ping' }),
  push: readPush,
  pull_request: readPullRequest,
  installation: readInstallation,
}

function readPush(about: About, body: Fields): Delivery | null {
  const { repository } = about
  const branch = branchOf(body.text('ref'))
  if (!repository) return null
  if (!branch) return { ...about, kind: 'ignored', reason: 'Not a branch was pushed' }
  if (body.yes('deleted')) return { ...about, kind: 'ignored', reason: 'The branch was deleted' }
  const commit = commitOf(body.text('after'))
  if (!commit) return null
  const head = body.in('head_commit')
  return {
    ...about,
    repository,
    kind: 'push',
    branch,
    defaultBranch: body.in('repository').text('default_branch'),
    commit,
    message: head.text('message') ?? '',
    author: head.in('author').text('name') ?? body.in('pusher').text('name'),
  }
}

const actions: Record<string, 'opened' | 'updated' | 'closed'> = {
  opened: 'opened',
  reopened: 'opened',
  synchronize: 'updated',
  closed: 'closed',
}

function readPullRequest(about: About, body: Fields): Delivery | null {
  const { repository } = about
  const action = actions[body.text('action') ?? '']
  if (!repository) return null
  if (!action) return { ...about, kind: 'ignored', reason: 'The pull request has no new commits and was not closed' }
  const request = body.in('pull_request')
  const head = request.in('head')
  const sourceRepository = nameOf(head.in('repo').text('full_name'))
  const [number, branch, commit, targetBranch] = [
    request.whole('number'),
    head.text('ref'),
    commitOf(head.text('sha')),
    request.in('base').text('ref'),
  ]
  if (number === null || !branch || !commit || !targetBranch) return null
  return {
    ...about,
    repository,
    kind: 'pull_request',
    action,
    number,
    title: request.text('title') ?? '',
    htmlUrl: request.text('html_url'),
    author: request.in('user').text('login'),
    branch,
    commit,
    targetBranch,
    fromFork: !isSame(head.in('repo').whole('id'), request.in('base').in('repo').whole('id')),
    sourceRepository,
  }
}

/** A fork that was deleted has no id any more: it still is one. */
const isSame = (one: number | null, other: number | null) => one !== null && one === other

const installationKinds = {
  deleted: 'installation_deleted',
  suspend: 'installation_suspended',
  unsuspend: 'installation_resumed',
} as const

function readInstallation(about: About, body: Fields): Delivery | null {
  const action = body.text('action') ?? ''
  const installation = body.in('installation')
  const installationId = installation.whole('id')
  if (installationId === null) return null
  if (!Object.hasOwn(installationKinds, action)) return { ...about, kind: 'ignored', reason: 'The installation goes on' }
  const kind = installationKinds[action as keyof typeof installationKinds]
  return { ...about, kind, installationId, account: installation.in('account').text('login') }
}
