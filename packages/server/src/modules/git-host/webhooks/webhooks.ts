import { randomBytes } from 'node:crypto'
import type { GitHostProvider, RepositoryWebhook } from '@berth/contract'
import type { Access, GitHost, HostHook } from '../../../drivers/git-host/git-host.ts'
import { GitHostError } from '../../../drivers/git-host/git-host-error.ts'
import type { RepositoryName } from '../../../drivers/git-host/repository-name.ts'
import { newId } from '../../../platform/db/ids.ts'
import { sealedFor } from '../../../platform/db/sealed-columns.ts'
import type { GitWebhookRow } from '../../../platform/db/tables/git-host.ts'
import { writeAuditRecord } from '../../../platform/db/write-record.ts'
import { KeyedMutex } from '../../../platform/keyed-mutex.ts'
import { Secret } from '../../../platform/secrets/secret.ts'
import { type GitHostDeps, nowOf } from '../deps.ts'
import { secretOf } from './verify-delivery.ts'
import { deleteWebhookRow, findWebhook, findWebhookOf, putWebhook, repositoryKey } from './webhook-store.ts'

export interface WebhookTarget {
  organizationId: string
  provider: GitHostProvider
  name: RepositoryName
  access: Access
  host: GitHost
}

export interface RegisteredWebhook {
  webhook: RepositoryWebhook
  isNew: boolean
}

/**
 * Creates or repairs the organisation's webhook on a repository. Each has its own URL and secret: hosts reject two with one URL,
 * and no organisation can sign for another.
 */
export const registerWebhook = (location: WebhookTarget, deps: GitHostDeps): Promise<RegisteredWebhook> =>
  registering.run(`${location.organizationId} ${location.provider} ${keyOf(location)}`, () => register(location, deps))

/** Two concurrent registrations would create two webhooks, one of them unknown to the database. */
const registering = new KeyedMutex()

const keyOf = ({ name }: WebhookTarget) => repositoryKey(name.owner, name.repo)

async function register(location: WebhookTarget, deps: GitHostDeps): Promise<RegisteredWebhook> {
  const { organizationId, provider, name, access, host } = location
  const base = (await deps.hookAddress?.(organizationId, { provider, ...name })) ?? deps.publicUrl()
  const existing = await findWebhookOf(deps.database.db, organizationId, provider, keyOf(location))
  const hooks = await host.hooks(access, name)
  const hostHook = existing && hooks.find(({ id }) => id === existing.hookId)
  if (existing && hostHook && isWorking(hostHook, addressOf(existing.id, base, provider)))
    return { webhook: showWebhook(hostHook), isNew: false }
  const reusable = hostHook ?? (await findOrphanedHook(hooks, location, base, deps))
  const id = existing?.id ?? newId('gwh')
  // A moved webhook keeps its secret: deliveries in flight are signed with it.
  const secret = existing ? secretOf(existing, deps) : new Secret(randomBytes(32).toString('base64url'))
  deps.scrubber.register(secret)
  const settings = { url: addressOf(id, base, provider), secret }
  await writeAuditRecord()
  const hook = reusable
    ? await host.changeHook(access, name, reusable.id, settings)
    : await host.createHook(access, name, settings).catch((error: unknown) => rethrowWithPublicUrlHint(error, settings.url))
  if (await saveWebhook({ id, hook, ...settings }, existing, location, deps))
    return { webhook: showWebhook({ ...hook, url: settings.url }), isNew: !reusable }
  // Another control plane has stored a webhook first: keep that one and delete ours.
  if (!reusable) await host.deleteHook(access, name, hook.id)
  return register(location, deps)
}

/** Whether the webhook is active, has this URL and reports pushes. */
export const isWorking = ({ active, url, events }: HostHook, address: string): boolean =>
  active && url === address && (events.includes('push') || events.includes('*'))

/** Stores the webhook. Returns false when the row changed meanwhile. */
function saveWebhook(
  { id, hook, url, secret }: { id: string; hook: HostHook; url: string; secret: Secret },
  existing: GitWebhookRow | undefined,
  location: WebhookTarget,
  { database, secretBox, ...deps }: GitHostDeps,
): Promise<boolean> {
  const { organizationId, provider } = location
  const now = nowOf(deps)
  return database.transaction(async ({ db, lock }) => {
    await lock(`git-webhook:${organizationId}:${provider}:${keyOf(location)}`)
    const current = await findWebhookOf(db, organizationId, provider, keyOf(location))
    if (current?.secret !== existing?.secret) return false
    await putWebhook(db, {
      ...{ id, organizationId, provider, hookId: hook.id, url, createdAt: now, updatedAt: now },
      repository: keyOf(location),
      events: JSON.stringify(hook.events),
      secret: secretBox.seal(secret, sealedFor.gitWebhookSecret(id)),
      lastDeliveryAt: null,
    })
    return true
  })
}

const pathOf = (provider: GitHostProvider) => `/api/webhooks/git/${provider}`

const addressOf = (id: string, base: string, provider: GitHostProvider): string => `${base}${pathOf(provider)}?hook=${id}`

/** A webhook of this instance without a row: an earlier registration was interrupted before it was stored. */
async function findOrphanedHook(
  hooks: readonly HostHook[],
  { provider }: WebhookTarget,
  base: string,
  deps: GitHostDeps,
): Promise<HostHook | undefined> {
  for (const hook of hooks) {
    const id = ourId(hook.url, provider, deps) ?? ourId(hook.url, provider, { publicUrl: () => base })
    if (id !== null && !(await findWebhook(deps.database.db, id))) return hook
  }
  return undefined
}

/** The webhook id in a URL of this instance; '' without an id; null for another URL. */
function ourId(address: string, provider: GitHostProvider, { publicUrl }: Pick<GitHostDeps, 'publicUrl'>): string | null {
  const url = URL.parse(address)
  return url?.origin === new URL(publicUrl()).origin && url.pathname === pathOf(provider)
    ? (url.searchParams.get('hook') ?? '')
    : null
}

function rethrowWithPublicUrlHint(error: unknown, url: string): never {
  if (error instanceof GitHostError && error.errorKind === 'refused')
    throw new GitHostError(
      'refused',
      `${error.message}. The git host must be able to reach ${new URL(url).origin}. Set BERTH_PUBLIC_URL to a public URL.`,
    )
  throw error
}

export async function listWebhooks(location: WebhookTarget, isAdmin: boolean, deps: GitHostDeps): Promise<RepositoryWebhook[]> {
  const { organizationId, provider, name, access, host } = location
  const existing = await findWebhookOf(deps.database.db, organizationId, provider, repositoryKey(name.owner, name.repo))
  const hooks = await host.hooks(access, name)
  return hooks.map((hook) => {
    const isOwnHook = hook.id === existing?.hookId || ourId(hook.url, provider, deps) !== null
    return { ...hook, url: isOwnHook || isAdmin ? hook.url : originOf(hook.url), ours: isOwnHook }
  })
}

/** URLs of other services may contain secrets: callers who may not change webhooks see only the origin. */
const originOf = (address: string): string => `${URL.parse(address)?.origin ?? ''}/…`

export async function deleteWebhook(
  { organizationId, provider, name, access, host }: WebhookTarget,
  hookId: number,
  deps: GitHostDeps,
) {
  const { db } = deps.database
  const existing = await findWebhookOf(db, organizationId, provider, repositoryKey(name.owner, name.repo))
  const forget = async () => {
    if (existing?.hookId === hookId) await deleteWebhookRow(db, existing.id)
  }
  await writeAuditRecord()
  try {
    await host.deleteHook(access, name, hookId)
  } catch (error) {
    if (error instanceof GitHostError && error.errorKind === 'not_found') await forget()
    throw error
  }
  await forget()
}

const showWebhook = (hook: HostHook): RepositoryWebhook => ({ ...hook, ours: true })
