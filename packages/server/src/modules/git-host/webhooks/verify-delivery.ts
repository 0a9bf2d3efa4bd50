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
  /** The webhook id from the delivery URL. */
  hook?: string | null
}

export interface VerifiedDelivery {
  /** Null: the signature is valid, but the body is not in the host's format. */
  delivery: Delivery | null
  /** Organisations whose webhook secret signed it; `all`: signed with the instance's own app secret. */
  organizationIds: readonly string[] | 'all'
  /** Ids of the webhooks that sent it. */
  webhookIds: readonly string[]
  /** The signature covers the whole body. The delivery id in the header is not signed. */
  isBodySigned: boolean
}

/** Maximum number of webhooks of one repository that are tried: each costs a hash of the whole body. */
const maxHooks = 20

/** Null: the signature matches no known secret. */
export async function verifyDelivery(inbound: InboundDelivery, deps: GitHostDeps): Promise<VerifiedDelivery | null> {
  const { provider, headers, rawBody } = inbound
  const host = deps.hosts[provider]
  const appSecret = deps.webhookSecrets[provider]
  // GitLab sends the secret itself: a party that has seen one delivery can forge others.
  const isBodySigned = provider !== 'gitlab'
  if (appSecret && host.isSignedWith(appSecret, headers, rawBody))
    return { delivery: host.readDelivery(headers, rawBody), organizationIds: 'all', webhookIds: [], isBodySigned }
  const hooks = inbound.hook ? await webhookOfUrl(inbound, deps) : await webhooksOfBody(inbound, deps)
  const signedHooks = hooks.filter((row) => isSignedFor(row, host, inbound, deps))
  if (signedHooks.length === 0) return null
  return {
    delivery: await withKnownRepository(host.readDelivery(headers, rawBody), signedHooks, inbound, deps),
    organizationIds: [...new Set(signedHooks.map(({ organizationId }) => organizationId))],
    webhookIds: signedHooks.map(({ id }) => id),
    isBodySigned,
  }
}

/**
 * Maps a delivery to the repository of its webhook. The host may report a new name after a rename, while projects and webhooks
 * still have the old one. A delivery about another repository with webhooks here is rejected.
 */
async function withKnownRepository(
  delivery: Delivery | null,
  hooks: readonly GitWebhookRow[],
  { provider }: InboundDelivery,
  { database }: GitHostDeps,
): Promise<Delivery | null> {
  const key = keyOf(delivery)
  const [repository, ...others] = new Set(hooks.map(({ repository }) => repository))
  if (!delivery?.repository || key === null || repository === undefined || (repository === key && others.length === 0))
    return delivery
  if (others.length > 0 || (await webhooksOn(database.db, provider, key, 1)).length > 0) return null
  const slashIndex = repository.lastIndexOf('/')
  return {
    ...delivery,
    repository: { owner: repository.slice(0, slashIndex), repo: repository.slice(slashIndex + 1) },
  } as Delivery
}

export async function webhookSecretsFor(
  provider: GitHostProvider,
  owner: string,
  repo: string,
  deps: GitHostDeps,
): Promise<{ organizationId: string | null; webhookId: string | null; secret: Secret }[]> {
  const rows = await webhooksOn(deps.database.db, provider, repositoryKey(owner, repo), maxHooks)
  const appSecret = deps.webhookSecrets[provider]
  return [
    ...(appSecret ? [{ organizationId: null, webhookId: null, secret: appSecret }] : []),
    ...rows.map((row) => ({ organizationId: row.organizationId, webhookId: row.id, secret: secretOf(row, deps) })),
  ]
}

const keyOf = (delivery: Delivery | null): string | null =>
  delivery?.repository ? repositoryKey(delivery.repository.owner, delivery.repository.repo) : null

async function webhookOfUrl({ provider, hook }: InboundDelivery, { database: { db } }: GitHostDeps) {
  const row = await findWebhook(db, hook as string)
  return row?.provider === provider ? [row] : []
}

/** Maximum size of an unverified body that is parsed to find the webhooks whose secrets to try. */
const maxUnsignedLength = 1024 * 1024

async function webhooksOfBody({ provider, headers, rawBody }: InboundDelivery, deps: GitHostDeps) {
  if (rawBody.length > maxUnsignedLength) return []
  const repository = keyOf(deps.hosts[provider].readDelivery(headers, rawBody))
  return repository ? webhooksOn(deps.database.db, provider, repository, maxHooks) : []
}

function isSignedFor(row: GitWebhookRow, host: GitHost, { headers, rawBody }: InboundDelivery, deps: GitHostDeps): boolean {
  return host.isSignedWith(secretOf(row, deps), headers, rawBody)
}

export const secretOf = ({ id, secret }: GitWebhookRow, { secretBox }: GitHostDeps): Secret =>
  secretBox.open(secret, sealedFor.gitWebhookSecret(id))
