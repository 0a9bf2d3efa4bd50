import { createHash } from 'node:crypto'
import type { WebhookReceipt } from '@berth/contract'
import { fail } from '../../platform/failure.ts'
import type { JobKind } from '../../platform/jobs/declare.ts'
import { type Delivery, type InboundDelivery, isGitHostProvider } from '../git-host/index.ts'
import { type GitEventsDeps, nowOf } from './deps.ts'
import { insertDelivery } from './store.ts'

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
  const { delivery, organizationIds, webhookIds } = verified
  if (!delivery) fail('invalid_json', { words: 'The signature is good, but this is not what this host sends' })
  await deps.gitHost.noteDelivery(webhookIds)
  if (delivery.kind === 'ping') return { outcome: 'pong', reason: null }
  if (delivery.kind === 'ignored') return { outcome: 'ignored', reason: delivery.reason }
  const key = keyOf(provider, webhookIds, delivery, inbound.rawBody)
  const isNew = await deps.database.transaction(async (bound) => {
    const row = {
      ...{ key, provider, kind: delivery.kind, delivery: JSON.stringify(delivery) },
      organizations: JSON.stringify(organizationIds),
      receivedAt: nowOf(deps),
      handledAt: null,
    }
    if (!(await insertDelivery(bound.db, row))) return false
    await bound.enqueue(handleKind, { key }, { groupKey: groupOf(provider, delivery), priority: 50 })
    return true
  })
  return isNew ? { outcome: 'accepted', reason: null } : { outcome: 'duplicate', reason: 'It was acted on before' }
}

/** An id counts for the hook that it came by alone, so that nobody can use up another's. */
function keyOf(provider: string, webhookIds: readonly string[], { id }: Delivery, rawBody: Buffer): string {
  const hash = createHash('sha256').update(JSON.stringify([provider, [...webhookIds].sort(), id]))
  return (id === null ? hash.update(rawBody) : hash).digest('hex')
}

/** What one repository reports is acted on in the order in which it came. */
const groupOf = (provider: string, { repository }: Delivery): string =>
  `git:${provider}:${repository ? `${repository.owner}/${repository.repo}`.toLowerCase() : ''}`
