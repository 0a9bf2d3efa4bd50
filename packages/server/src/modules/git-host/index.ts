import type { GitHostProvider } from '@berth/contract'
import { organizationsWith } from './connections/connection-store.ts'
import { dropInstallation, markInstallation } from './connections/installations.ts'
import { type GitHostDeps, type GitHostInputs, nowOf } from './deps.ts'
import { gitHostHandlers } from './handlers.ts'
import { LiveHosts } from './hosts/live-hosts.ts'
import { createProjectPort } from './project-port.ts'
import { type Viewer, visibilityFor } from './visibility.ts'
import { type InboundDelivery, verifyDelivery, webhookSecretsFor } from './webhooks/verify-delivery.ts'
import { recordDeliveryTimes } from './webhooks/webhook-store.ts'

export type { Delivery, PullRequestDelivery, PushDelivery } from '../../drivers/git-host/delivery.ts'
export { GitHostError } from '../../drivers/git-host/git-host-error.ts'
export type { DroppedInstallation } from './connections/installations.ts'
export type { CloudLinks, GitHostDeps } from './deps.ts'
export type { HostSettings } from './hosts/host-settings.ts'
export { isGitHostProvider } from './hosts/host-titles.ts'
export type { GitHostDrivers } from './hosts/live-hosts.ts'
export type { RepositoryRef } from './project-port.ts'
export type { InboundDelivery, VerifiedDelivery } from './webhooks/verify-delivery.ts'

/**
 * Connections to git hosts. An organisation has *connections*, each with a *source*: an installed app, an account (OAuth), or the
 * machine's command-line login. They are used to browse *repositories*, create *webhooks*, provide the *credential* of a
 * repository to other modules, and set commit statuses.
 */
export function createGitHost({ configured, create, ...inputs }: GitHostInputs) {
  const live = new LiveHosts({ ...inputs, configured, create })
  const { hosts, webhookSecrets } = live
  const deps: GitHostDeps = { ...inputs, live, hosts, webhookSecrets }
  const recordedAt = new Map<string, number>()
  return {
    handlers: gitHostHandlers(deps),
    ...createProjectPort(deps),
    /** Reads the stored applications; awaited before the instance serves. */
    refreshApplications: () => live.refresh(),
    /** Web addresses of the git hosts, as they are now. */
    hostUrls: () => live.urls,
    /** The repositories that a user of that role may use; `memberRepositories` limits members. */
    visibleTo: (viewer: Viewer) => visibilityFor(viewer, deps),
    /** Null: the signature matches no known secret. */
    verifyDelivery: async (inbound: InboundDelivery) => {
      await live.refresh()
      return verifyDelivery(inbound, deps)
    },
    webhookSecretsFor: async (provider: GitHostProvider, owner: string, repo: string) => {
      await live.refresh()
      return webhookSecretsFor(provider, owner, repo, deps)
    },
    /** Organisations with an active app installation on that owner's account. */
    organizationsWith: (provider: GitHostProvider, owner: string) => organizationsWith(deps.database.db, provider, owner),
    recordDeliveryTime: async (webhookIds: readonly string[]) => {
      const now = nowOf(deps)
      const due = webhookIds.filter((id) => now - (recordedAt.get(id) ?? 0) >= 1000)
      if (due.length === 0) return
      if (recordedAt.size > maxRecorded) recordedAt.clear()
      for (const id of due) recordedAt.set(id, now)
      await recordDeliveryTimes(deps.database.db, due, now)
    },
    /** Deletes an installation and notifies its organisations. */
    dropInstallation: (provider: GitHostProvider, installationId: number) => dropInstallation(provider, installationId, deps),
    markInstallation: (provider: GitHostProvider, installationId: number, state: 'suspended' | 'resumed') =>
      markInstallation(provider, installationId, state, deps),
  }
}

/** Maximum size of the map; then it is cleared, which only costs a few extra writes. */
const maxRecorded = 10_000

export type GitHostModule = ReturnType<typeof createGitHost>
