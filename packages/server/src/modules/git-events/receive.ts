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

/** Records a delivery together with its job. The job handles it, because the host's request times out soon. */
export async function receive(
  { provider, ...inbound }: Received,
  record: (incoming: Incoming) => Promise<boolean>,
  deps: GitEventsDeps,
): Promise<WebhookReceipt> {
  if (!isGitHostProvider(provider))
    fail('not_found', { message: `Git host ${provider} is not supported. Use github, gitlab or gitea.` })
  const verified = await deps.gitHost.verifyDelivery({ provider, ...inbound })
  if (!verified) fail('unauthorized', { message: 'Invalid webhook signature' })
  const { delivery, webhookIds } = verified
  if (!delivery) fail('invalid_json', { message: 'The webhook body is not a valid event of this git host' })
  await deps.gitHost.recordDeliveryTime(webhookIds)
  if (delivery.kind === 'ping') return { outcome: 'pong', reason: null }
  if (delivery.kind === 'ignored') return { outcome: 'ignored', reason: delivery.reason }
  const isWanted = await isNeeded(provider, { ...verified, delivery }, deps)
  if (!isWanted) await refuseMoved(provider, { ...verified, delivery }, deps)
  const incoming = incomingOf(provider, { ...verified, delivery }, inbound.rawBody, nowOf(deps))
  const isNew = await record(isWanted ? incoming : asHandled(incoming))
  return isNew ? { outcome: 'accepted', reason: null } : { outcome: 'duplicate', reason: 'This event was already processed' }
}

/**
 * Whether any project needs the delivery. Most pushes are to branches that are not deployed, and a job for each would be most of
 * the load.
 */
async function isNeeded(
  provider: GitHostProvider,
  { delivery, organizationIds }: VerifiedDelivery & { delivery: Delivery },
  { projects, gitHost }: GitEventsDeps,
): Promise<boolean> {
  if (delivery.kind !== 'push') return true
  const { repository } = delivery
  const ids = organizationIds === 'all' ? await gitHost.organizationsWith(provider, repository.owner) : organizationIds
  return projects.isFollowed({ provider, ...repository }, ids, delivery)
}

/** Rejects a push to a project that was moved away, so that the git host shows the failed delivery to the owner of the webhook. */
async function refuseMoved(
  provider: GitHostProvider,
  { delivery, organizationIds }: VerifiedDelivery & { delivery: Delivery },
  { projects }: GitEventsDeps,
): Promise<void> {
  // An app's webhook covers every repository of an account and stays when a project moves.
  if (delivery.kind !== 'push' || organizationIds === 'all') return
  if (await projects.wasFollowed({ provider, ...delivery.repository }, organizationIds, delivery))
    fail('conflict', {
      message: 'The project of this repository was transferred to another instance with its own webhook. Remove this webhook.',
    })
}

/** Marks a delivery as already handled; it is stored only to detect duplicates. */
const asHandled = ({ row, ...rest }: Incoming): Incoming => ({
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

/** The owner of the job. A delivery of the app names no organisation, so the account at the host is used. */
function ownerOf(provider: GitHostProvider, { repository }: Delivery, organizationIds: readonly string[] | 'all'): JobOwner {
  const [organizationId] = organizationIds === 'all' ? [] : organizationIds
  return organizationId === undefined ? { account: `${provider}:${repository?.owner ?? ''}` } : { organizationId }
}

/** The deduplication key. It includes the webhook, so a sender cannot use up another webhook's delivery ids. */
function keyOf(keyParts: readonly unknown[], rawBody: Buffer | null): string {
  const hash = createHash('sha256').update(JSON.stringify(keyParts))
  return (rawBody === null ? hash : hash.update(rawBody)).digest('hex')
}

/** The job group of a repository: its deliveries are handled in order. */
export const groupOf = (provider: string | null, repository: { owner: string; repo: string } | null): string =>
  `git:${provider}:${repository ? `${repository.owner}/${repository.repo}`.toLowerCase() : ''}`

/** The job group of a project's repository. */
export const groupOfProject = ({ gitProvider, gitOwner, gitRepo }: ProjectRow): string =>
  groupOf(gitProvider, gitOwner && gitRepo ? { owner: gitOwner, repo: gitRepo } : null)

/** The branch or pull request of a delivery, as a hash, so that a branch name of any length and content can be stored. */
function subjectOf(provider: string, delivery: Delivery): string | null {
  const group = groupOf(provider, delivery.repository)
  if (delivery.kind === 'push') return keyOf([group, 'branch', delivery.branch], null)
  return delivery.kind === 'pull_request' ? keyOf([group, 'pull request', delivery.number], null) : null
}
