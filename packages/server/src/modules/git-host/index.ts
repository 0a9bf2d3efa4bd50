import type { GitHostProvider } from '@berth/contract'
import { organizationsWith } from './connections/connection-store.ts'
import { dropInstallation, markInstallation } from './connections/installations.ts'
import { type GitHostDeps, nowOf } from './deps.ts'
import { gitHostHandlers } from './handlers.ts'
import { createProjectPort } from './project-port.ts'
import { type Viewer, visibilityFor } from './visibility.ts'
import { type InboundDelivery, verifyDelivery, webhookSecretsFor } from './webhooks/verify-delivery.ts'
import { noteDeliveries } from './webhooks/webhook-store.ts'

export type { Delivery, PullRequestDelivery, PushDelivery } from '../../drivers/git-host/delivery.ts'
export { GitHostError } from '../../drivers/git-host/git-host-error.ts'
export { isGitHostProvider } from './connections/host-titles.ts'
export type { DroppedInstallation } from './connections/installations.ts'
export type { CloudLinks, GitHostDeps } from './deps.ts'
export type { RepositoryAt } from './project-port.ts'
export type { InboundDelivery, VerifiedDelivery } from './webhooks/verify-delivery.ts'

/**
 * Connections to git hosts. An organisation has *connections*, each with a *source*: an installed app, an account (OAuth), or the
 * machine's command-line login. They are used to browse *repositories*, create *webhooks*, provide the *credential* of a
 * repository to other modules, and set commit statuses.
 */
export function createGitHost(deps: GitHostDeps) {
  const notedAt = new Map<string, number>()
  return {
    handlers: gitHostHandlers(deps),
    ...createProjectPort(deps),
    /** The repositories that a user of that role may use; `memberRepositories` limits members. */
    visibleTo: (viewer: Viewer) => visibilityFor(viewer, deps),
    /** Null: the signature matches no known secret. */
    verifyDelivery: (inbound: InboundDelivery) => verifyDelivery(inbound, deps),
    webhookSecretsFor: (provider: GitHostProvider, owner: string, repo: string) => webhookSecretsFor(provider, owner, repo, deps),
    /** Organisations with an active app installation on that owner's account. */
    organizationsWith: (provider: GitHostProvider, owner: string) => organizationsWith(deps.database.db, provider, owner),
    noteDelivery: async (webhookIds: readonly string[]) => {
      const now = nowOf(deps)
      const due = webhookIds.filter((id) => now - (notedAt.get(id) ?? 0) >= 1000)
      if (due.length === 0) return
      if (notedAt.size > maxRecorded) notedAt.clear()
      for (const id of due) notedAt.set(id, now)
      await noteDeliveries(deps.database.db, due, now)
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
