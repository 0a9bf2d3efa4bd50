import type { GitHostProvider } from '@berth/contract'
import type { Delivery, DeliveryHeaders } from '../../../drivers/git-host/delivery.ts'
import type { GitHost } from '../../../drivers/git-host/git-host.ts'
import { sealedFor } from '../../../platform/db/sealed-columns.ts'
import type { GitWebhookRow } from '../../../platform/db/tables/git-host.ts'
import type { Secret } from '../../../platform/secrets/secret.ts'
import type { GitHostDeps } from '../deps.ts'
import { findWebhook, repositoryKey, webhooksOn } from './webhook-store.ts'

export interface InboundDelivery {
  provider: GitHostProvider
  headers: DeliveryHeaders
  rawBody: Buffer
  /** Of the address that it came to: which hook it is said to be of. */
  hook?: string | null
}

export interface VerifiedDelivery {
  /** Null: well signed, but not of the host's form. */
  delivery: Delivery | null
  /** Whose hooks it was signed for; `all`: with the instance's own secret, which its operator has given to the host. */
  organizationIds: readonly string[] | 'all'
  /** The hooks that it came from. */
  webhookIds: readonly string[]
  /** The host has signed every byte of the body; the id of the delivery beside it is signed by nobody. */
  isBodySigned: boolean
}

/** More hooks on one repository are not looked at: each costs a hash of the whole body. */
const mostHooks = 20

/** Null: signed with no secret that we know for it. */
export async function verifyDelivery(inbound: InboundDelivery, deps: GitHostDeps): Promise<VerifiedDelivery | null> {
  const { provider, headers, rawBody } = inbound
  const host = deps.hosts[provider]
  const own = deps.webhookSecrets[provider]
  // GitLab sends the secret itself: who has seen one delivery can write any other.
  const isBodySigned = provider !== 'gitlab'
  if (own && host.isSignedWith(own, headers, rawBody))
    return { delivery: host.readDelivery(headers, rawBody), organizationIds: 'all', webhookIds: [], isBodySigned }
  const hooks = inbound.hook ? await hookNamed(inbound, deps) : await hooksOnNamed(inbound, deps)
  const named = hooks.filter((row) => isSignedFor(row, host, inbound, deps))
  if (named.length === 0) return null
  return {
    delivery: await asKnown(host.readDelivery(headers, rawBody), named, inbound, deps),
    organizationIds: [...new Set(named.map(({ organizationId }) => organizationId))],
    webhookIds: named.map(({ id }) => id),
    isBodySigned,
  }
}

/**
 * A hook is on one repository, so its deliveries are about that one. The host may call it by a new name: projects and hooks know
 * it by the one that it had. A delivery about another repository that has hooks here is refused.
 */
async function asKnown(
  delivery: Delivery | null,
  hooks: readonly GitWebhookRow[],
  { provider }: InboundDelivery,
  { database }: GitHostDeps,
): Promise<Delivery | null> {
  const key = keyOf(delivery)
  const [known, ...others] = new Set(hooks.map(({ repository }) => repository))
  if (!delivery?.repository || key === null || known === undefined || (known === key && others.length === 0)) return delivery
  if (others.length > 0 || (await webhooksOn(database.db, provider, key, 1)).length > 0) return null
  const cut = known.lastIndexOf('/')
  return { ...delivery, repository: { owner: known.slice(0, cut), repo: known.slice(cut + 1) } } as Delivery
}

export async function webhookSecretsFor(
  provider: GitHostProvider,
  owner: string,
  repo: string,
  deps: GitHostDeps,
): Promise<{ organizationId: string | null; webhookId: string | null; secret: Secret }[]> {
  const rows = await webhooksOn(deps.database.db, provider, repositoryKey(owner, repo), mostHooks)
  const own = deps.webhookSecrets[provider]
  return [
    ...(own ? [{ organizationId: null, webhookId: null, secret: own }] : []),
    ...rows.map((row) => ({ organizationId: row.organizationId, webhookId: row.id, secret: secretOf(row, deps) })),
  ]
}

const keyOf = (delivery: Delivery | null): string | null =>
  delivery?.repository ? repositoryKey(delivery.repository.owner, delivery.repository.repo) : null

async function hookNamed({ provider, hook }: InboundDelivery, { database: { db } }: GitHostDeps) {
  const row = await findWebhook(db, hook as string)
  return row?.provider === provider ? [row] : []
}

/** Nobody has vouched for it yet: of what anybody may send only this much is read, to learn whose secret to try. */
const longestUnsigned = 1024 * 1024

async function hooksOnNamed({ provider, headers, rawBody }: InboundDelivery, deps: GitHostDeps) {
  if (rawBody.length > longestUnsigned) return []
  const repository = keyOf(deps.hosts[provider].readDelivery(headers, rawBody))
  return repository ? webhooksOn(deps.database.db, provider, repository, mostHooks) : []
}

function isSignedFor(row: GitWebhookRow, host: GitHost, { headers, rawBody }: InboundDelivery, deps: GitHostDeps): boolean {
  return host.isSignedWith(secretOf(row, deps), headers, rawBody)
}

export const secretOf = ({ id, secret }: GitWebhookRow, { secretBox }: GitHostDeps): Secret =>
  secretBox.open(secret, sealedFor.gitWebhookSecret(id))
