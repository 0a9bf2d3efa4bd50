import { randomBytes } from 'node:crypto'
import type { GitApplication, GitApplicationBody, GitHostProvider } from '@berth/contract'
import type { Caller } from '../../../http/handler.ts'
import { isoOrNull } from '../../../platform/db/columns.ts'
import { fail, refuse } from '../../../platform/failure.ts'
import { Secret } from '../../../platform/secrets/secret.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import { deleteAllDeviceLogins } from '../connect/device-store.ts'
import { redirectUri } from '../connect/redirect-uri.ts'
import { connectedOrganizations, deleteConnectionsOf } from '../connections/connection-store.ts'
import { announceDisconnected } from '../connections/installations.ts'
import { type GitHostDeps, nowOf } from '../deps.ts'
import { deleteApplication, findApplication, putApplication, sealApplication } from '../hosts/application-store.ts'
import { type HostSettings, hasApplication } from '../hosts/host-settings.ts'
import { hostTitles } from '../hosts/host-titles.ts'
import { applicationsTopic, providers } from '../hosts/live-hosts.ts'
import { unreachableHook } from './hook-reach.ts'

export const listApplications = (deps: GitHostDeps): Promise<GitApplication[]> =>
  Promise.all(providers.map((provider) => showApplication(provider, deps)))

/** The settings in use, without their secrets. */
export async function showApplication(provider: GitHostProvider, deps: GitHostDeps): Promise<GitApplication> {
  const { settings, origin, row, problem } = deps.live.of(provider)
  const { webUrl, appId, appSlug, clientId } = settings
  // GitHub apps can be created here, so the webhook address matters before there is an application.
  const needsHook = provider === 'github' || hasApplication(settings)
  const hookProblem = needsHook ? unreachableHook(hostTitles[provider], webUrl, deps.publicUrl()) : null
  return {
    provider,
    origin,
    kind: appId !== null ? 'app' : clientId !== null ? 'oauth' : null,
    url: webUrl,
    appId,
    appSlug,
    appUrl: appSlug === null ? null : `${webUrl}/apps/${encodeURIComponent(appSlug)}`,
    clientId,
    hasClientSecret: settings.clientSecret !== null,
    hasPrivateKey: settings.privateKey !== null,
    hasWebhookSecret: settings.webhookSecret !== null,
    callbackUrl: redirectUri(deps),
    isStored: row !== null,
    connectedOrganizations: await connectedOrganizations(deps.database.db, provider),
    problems: [problem, hookProblem].filter((text) => text !== null),
    updatedAt: isoOrNull(row?.updatedAt ?? null),
  }
}

/** Stores the OAuth application of a host. It is used at once, on every control plane. */
export async function saveApplication(
  provider: GitHostProvider,
  { url, clientId, clientSecret }: GitApplicationBody,
  caller: Caller,
  deps: GitHostDeps,
): Promise<GitApplication> {
  deps.scrubber.register(clientSecret)
  refuseConfigured(provider, deps)
  const { webUrl } = deps.live.of(provider).settings
  const settings: HostSettings = {
    webUrl: url === undefined ? webUrl : checkedUrl(url),
    clientId,
    clientSecret: new Secret(clientSecret),
    appId: null,
    appSlug: null,
    privateKey: null,
    webhookSecret: null,
  }
  if (provider === 'github' && settings.webUrl !== deps.live.configured('github').webUrl)
    refuse('url', 'of GitHub is set with BERTH_GITHUB_WEB_URL')
  await storeApplication(provider, settings, caller.userId, null, deps)
  return showApplication(provider, deps)
}

/** Rejects a change that would have no effect. */
export function refuseConfigured(provider: GitHostProvider, { live }: GitHostDeps): void {
  if (hasApplication(live.configured(provider)))
    fail('conflict', {
      message: `${hostTitles[provider]} is set up with BERTH_${provider.toUpperCase()}_* variables, which take precedence. Remove them and restart first.`,
    })
}

function checkedUrl(text: string): string {
  const url = URL.parse(text)
  if (!url || url.username || url.password || url.search || url.hash) return refuse('url', 'must be an http(s) address of a host')
  return url.href.replace(/\/+$/, '')
}

/**
 * The stored application that a change expects to replace, by its version. `version: null`: the change expects that none is stored.
 * Null instead of an object: the change replaces whatever is stored.
 */
export type Replaces = { version: string | null } | null

/**
 * Stores an application, and ends the connections of the one that it replaces: another application, or another host, does not accept
 * their credentials.
 */
export async function storeApplication(
  provider: GitHostProvider,
  settings: HostSettings,
  userId: string,
  replaces: Replaces,
  deps: GitHostDeps,
): Promise<void> {
  const secrets = sealApplication(provider, settings, deps.secretBox)
  await deps.database.transaction(async (transaction) => {
    await transaction.lock(applicationsTopic)
    const existing = await findApplication(transaction.db, provider)
    if (replaces && (existing?.version ?? null) !== replaces.version)
      fail('conflict', {
        message: `Another application was stored for ${hostTitles[provider]} meanwhile. The new app ${settings.appSlug ?? ''} is not used: delete it at ${hostTitles[provider]}.`,
      })
    const now = nowOf(deps)
    const oldUrl = existing?.url ?? deps.live.configured(provider).webUrl
    const isOther = existing !== undefined && (existing.clientId !== settings.clientId || existing.appId !== settings.appId)
    if (isOther || oldUrl !== settings.webUrl) await endConnections(provider, 'its application was replaced', transaction)
    if (oldUrl !== settings.webUrl) await deps.onHostMoved?.({ provider, oldUrl, newUrl: settings.webUrl }, transaction)
    await putApplication(transaction.db, {
      provider,
      version: randomBytes(12).toString('base64url'),
      url: settings.webUrl,
      appId: settings.appId,
      appSlug: settings.appSlug,
      clientId: settings.clientId ?? '',
      secrets,
      createdBy: userId,
      createdAt: existing?.createdAt ?? now,
      updatedAt: now,
    })
    transaction.signal(applicationsTopic, { changed: provider })
  })
  await deps.live.refresh()
}

/** Removes the stored application and the connections that were made with it. */
export async function removeApplication(provider: GitHostProvider, deps: GitHostDeps): Promise<void> {
  await deps.database.transaction(async (transaction) => {
    await transaction.lock(applicationsTopic)
    const row = await deleteApplication(transaction.db, provider)
    if (!row) return fail('not_found', { message: `No OAuth application or GitHub App is stored for ${hostTitles[provider]}` })
    const configured = deps.live.configured(provider)
    // The connections of an application that the environment gives stay.
    if (!hasApplication(configured)) {
      await endConnections(provider, 'its application was removed', transaction)
      const moved = { provider, oldUrl: row.url, newUrl: configured.webUrl }
      if (row.url !== configured.webUrl) await deps.onHostMoved?.(moved, transaction)
    }
    transaction.signal(applicationsTopic, { changed: provider })
  })
  await deps.live.refresh()
}

async function endConnections(provider: GitHostProvider, reason: string, transaction: TransactionContext): Promise<void> {
  await deleteAllDeviceLogins(transaction.db, provider)
  for (const row of await deleteConnectionsOf(transaction.db, provider)) await announceDisconnected(transaction, row, reason)
}
