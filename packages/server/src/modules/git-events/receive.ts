import { createHash } from 'node:crypto'
import type { GitHostProvider, WebhookReceipt } from '@berth/contract'
import { fail } from '../../platform/failure.ts'
import type { JobKind } from '../../platform/jobs/declare.ts'
import { type Delivery, type InboundDelivery, isGitHostProvider, type VerifiedDelivery } from '../git-host/index.ts'
import { type GitEventsDeps, nowOf, type ProjectRow } from './deps.ts'
import { insertDelivery, markHandled, pushBodyKind } from './store.ts'

export const handleKind: JobKind<{ key: string }> = { kind: 'git-events.handle' }

export interface Received {
  provider: string
  hook: string | null
  headers: InboundDelivery['headers']
  rawBody: Buffer
}

/** The host waits for the answer, and gives up soon: the delivery is recorded with the job that acts on it, no more. */
export async function receive({ provider, ...inbound }: Received, deps: GitEventsDeps): Promise<WebhookReceipt> {
  if (!isGitHostProvider(provider))
    fail('not_found', { words: `There is no git host ${provider}: github, gitlab and gitea are known` })
  const verified = await deps.gitHost.verifyDelivery({ provider, ...inbound })
  if (!verified) fail('unauthorized', { words: 'The signature fits no secret that is known here' })
  const { delivery, webhookIds } = verified
  if (!delivery) fail('invalid_json', { words: 'The signature is good, but this is not what this host sends' })
  await deps.gitHost.noteDelivery(webhookIds)
  if (delivery.kind === 'ping') return { outcome: 'pong', reason: null }
  if (delivery.kind === 'ignored') return { outcome: 'ignored', reason: delivery.reason }
  const isNew = await record(provider, { ...verified, delivery }, inbound.rawBody, deps)
  return isNew ? { outcome: 'accepted', reason: null } : { outcome: 'duplicate', reason: 'It was acted on before' }
}

/** False: it was here before, under its id or, as a push that somebody sends once more under another id, word for word. */
function record(
  provider: GitHostProvider,
  { delivery, organizationIds, webhookIds, isBodySigned }: VerifiedDelivery & { delivery: Delivery },
  rawBody: Buffer,
  deps: GitEventsDeps,
): Promise<boolean> {
  const now = nowOf(deps)
  const key = keyOf([provider, [...webhookIds].sort(), delivery.id], delivery.id === null ? rawBody : null)
  const common = { provider, organizations: JSON.stringify(organizationIds), receivedAt: now }
  const bodyKey = isBodySigned && delivery.kind === 'push' && keyOf([provider, [...webhookIds].sort(), 'body'], rawBody)
  return deps.database.transaction(async ({ db, enqueue }) => {
    const row = { ...common, key, kind: delivery.kind, subject: subjectOf(provider, delivery), handledAt: null }
    if (!(await insertDelivery(db, { ...row, delivery: JSON.stringify(delivery) }))) return false
    const copy = { ...common, kind: pushBodyKind, subject: null, delivery: null, handledAt: now }
    if (bodyKey && !(await insertDelivery(db, { ...copy, key: bodyKey }))) {
      await markHandled(db, key, now)
      return false
    }
    await enqueue(handleKind, { key }, { groupKey: groupOf(provider, delivery.repository), priority: 50 })
    return true
  })
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

function subjectOf(provider: string, delivery: Delivery): string | null {
  if (delivery.kind === 'push') return `${groupOf(provider, delivery.repository)}#${delivery.branch}`
  return delivery.kind === 'pull_request' ? `${groupOf(provider, delivery.repository)}!${delivery.number}` : null
}
