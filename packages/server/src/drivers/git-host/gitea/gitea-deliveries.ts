import type { Secret } from '../../../platform/secrets/secret.ts'
import { type Delivery, type DeliveryHeaders, headerOf } from '../delivery.ts'
import { branchOf, commitOf, Fields, isHmacOf, nameOf } from '../payload.ts'

/** Forgejo sends the same under its own name as well. */
const header = (headers: DeliveryHeaders, name: string) =>
  headerOf(headers, `x-gitea-${name}`) ?? headerOf(headers, `x-forgejo-${name}`)

export function isSignedByGitea(secret: Secret, headers: DeliveryHeaders, rawBody: Buffer): boolean {
  const given = header(headers, 'signature')
  return isHmacOf(rawBody, secret, given && /^[0-9a-f]{64}$/i.test(given) ? given : null)
}

type About = Pick<Delivery, 'id' | 'repository'>

export function readGiteaDelivery(headers: DeliveryHeaders, rawBody: Buffer): Delivery | null {
  const event = header(headers, 'event')
  const body = Fields.of(rawBody)
  if (!event || !body) return null
  const about = { id: header(headers, 'delivery'), repository: nameOf(body.in('repository').text('full_name')) }
  if (event === 'push') return readPush(about, body)
  if (event === 'pull_request' || event === 'pull_request_sync') return readPullRequest(about, body)
  return { ...about, kind: 'ignored', reason: `Nothing happens on ${event.slice(0, 100)}` }
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
  const head = body.in('head_commit')
  const author = head.in('author').text('name') ?? body.in('pusher').text('login')
  const defaultBranch = body.in('repository').text('default_branch')
  return { ...about, repository, kind: 'push', branch, defaultBranch, commit, message: head.text('message') ?? '', author }
}

const actions: Record<string, 'opened' | 'updated' | 'closed'> = {
  opened: 'opened',
  reopened: 'opened',
  synchronized: 'updated',
  closed: 'closed',
}

function readPullRequest(about: About, body: Fields): Delivery | null {
  const { repository } = about
  const action = actions[body.text('action') ?? '']
  if (!repository) return null
  if (!action) return { ...about, kind: 'ignored', reason: 'The pull request has no new commits and was not closed' }
  const request = body.in('pull_request')
  const [head, base] = [request.in('head'), request.in('base')]
  const [number, branch, targetBranch] = [request.whole('number') ?? body.whole('number'), head.text('ref'), base.text('ref')]
  const commit = commitOf(head.text('sha'))
  if (number === null || !branch || !targetBranch || !commit) return null
  const [from, to] = [head.in('repo').whole('id'), base.in('repo').whole('id')]
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
    fromFork: from === null || from !== to,
    sourceRepository: nameOf(head.in('repo').text('full_name')),
  }
}
