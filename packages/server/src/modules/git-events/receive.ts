import { createHash } from 'node:crypto'
import type { GitHostProvider, WebhookReceipt } from '@berth/contract'
import { fail } from '../../platform/failure.ts'
import type { JobOwner } from '../../platform/jobs/declare.ts'
import { type Delivery, type InboundDelivery, isGitHostProvider, type VerifiedDelivery } from '../git-host/index.ts'
import { type GitEventsDeps, nowOf, type ProjectRow } from './deps.ts'
import type { Incoming } from './record-deliveries.ts'
import { pushBodyKind } from './store.ts'

export interface Received {
  provider: string
  hook: string | null
  headers: InboundDelivery['headers']
  rawBody: Buffer
}

/** The host waits for the answer, and gives up soon: the delivery is recorded with the job that acts on it, no more. */
export async function receive(
  { provider, ...inbound }: Received,
  record: (incoming: Incoming) => Promise<boolean>,
  deps: GitEventsDeps,
): Promise<WebhookReceipt> {
  if (!isGitHostProvider(provider))
    fail('not_found', { words: `There is no git host ${provider}: github, gitlab and gitea are known` })
  const verified = await deps.gitHost.verifyDelivery({ provider, ...inbound })
  if (!verified) fail('unauthorized', { words: 'The signature fits no secret that is known here' })
  const { delivery, webhookIds } = verified
  if (!delivery) fail('invalid_json', { words: 'The signature is good, but this is not what this host sends' })
  await deps.gitHost.noteDelivery(webhookIds)
  if (delivery.kind === 'ping') return { outcome: 'pong', reason: null }
  if (delivery.kind === 'ignored') return { outcome: 'ignored', reason: delivery.reason }
  const isWanted = await concernsAnybody(provider, { ...verified, delivery }, deps)
  if (!isWanted) await refuseMoved(provider, { ...verified, delivery }, deps)
  const incoming = incomingOf(provider, { ...verified, delivery }, inbound.rawBody, nowOf(deps))
  const isNew = await record(isWanted ? incoming : atRest(incoming))
  return isNew ? { outcome: 'accepted', reason: null } : { outcome: 'duplicate', reason: 'It was acted on before' }
}

/** Most pushes are to branches that nobody deploys: a job for each would be most of the work. */
async function concernsAnybody(
  provider: GitHostProvider,
  { delivery, organizationIds }: VerifiedDelivery & { delivery: Delivery },
  { projects, gitHost }: GitEventsDeps,
): Promise<boolean> {
  if (delivery.kind !== 'push') return true
  const { repository } = delivery
  const ids = organizationIds === 'all' ? await gitHost.organizationsWith(provider, repository.owner) : organizationIds
  return projects.isFollowed({ provider, ...repository }, ids, delivery)
}

/** A push to a project that was moved away is not accepted: the git host shows the failed delivery to the owner of the hook. */
async function refuseMoved(
  provider: GitHostProvider,
  { delivery, organizationIds }: VerifiedDelivery & { delivery: Delivery },
  { projects }: GitEventsDeps,
): Promise<void> {
  // The webhook of an app reports every repository of an account; it stays, whichever project moved.
  if (delivery.kind !== 'push' || organizationIds === 'all') return
  if (await projects.wasFollowed({ provider, ...delivery.repository }, organizationIds, delivery))
    fail('conflict', {
      words: 'The project of this repository was moved to another instance, which has a webhook of its own: remove this one',
    })
}

/** Remembered, so that it is known when it comes again, and acted on already. */
const atRest = ({ row, ...rest }: Incoming): Incoming => ({
  ...rest,
  row: { ...row, delivery: null, handledAt: row.receivedAt as number },
})

function incomingOf(
  provider: GitHostProvider,
  { delivery, organizationIds, webhookIds, isBodySigned }: VerifiedDelivery & { delivery: Delivery },
  rawBody: Buffer,
  now: number,
): Incoming {
  const by = [provider, [...webhookIds].sort()]
  const common = { provider, organizations: JSON.stringify(organizationIds), receivedAt: now }
  const remembered = isBodySigned && delivery.kind === 'push'
  return {
    groupKey: groupOf(provider, delivery.repository),
    owner: ownerOf(provider, delivery, organizationIds),
    row: {
      ...common,
      key: keyOf([...by, delivery.id], delivery.id === null ? rawBody : null),
      kind: delivery.kind,
      subject: subjectOf(provider, delivery),
      delivery: JSON.stringify(delivery),
      handledAt: null,
    },
    copy: remembered
      ? { ...common, key: keyOf([...by, 'body'], rawBody), kind: pushBodyKind, subject: null, delivery: null, handledAt: now }
      : null,
  }
}

/** A delivery of the app names no organisation: the account at the host stands for it. */
function ownerOf(provider: GitHostProvider, { repository }: Delivery, organizationIds: readonly string[] | 'all'): JobOwner {
  const [organizationId] = organizationIds === 'all' ? [] : organizationIds
  return organizationId === undefined ? { account: `${provider}:${repository?.owner ?? ''}` } : { organizationId }
}

/** An id counts for the hook that it came by alone, so that nobody can use up another's. */
function keyOf(about: readonly unknown[], rawBody: Buffer | null): string {
  const hash = createHash('sha256').update(JSON.stringify(about))
  return (rawBody === null ? hash : hash.update(rawBody)).digest('hex')
}

/** What one repository reports is acted on in the order in which it came. */
export const groupOf = (provider: string | null, repository: { owner: string; repo: string } | null): string =>
  `git:${provider}:${repository ? `${repository.owner}/${repository.repo}`.toLowerCase() : ''}`

/** Of the repository that a project is made from. */
export const groupOfProject = ({ gitProvider, gitOwner, gitRepo }: ProjectRow): string =>
  groupOf(gitProvider, gitOwner && gitRepo ? { owner: gitOwner, repo: gitRepo } : null)

/** Its hash: what a branch may be called, no database has to bear. */
function subjectOf(provider: string, delivery: Delivery): string | null {
  const group = groupOf(provider, delivery.repository)
  if (delivery.kind === 'push') return keyOf([group, 'branch', delivery.branch], null)
  return delivery.kind === 'pull_request' ? keyOf([group, 'pull request', delivery.number], null) : null
}
