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
 * Where the code comes from. An organisation has *connections* to git hosts, each by a *source*: an installed app, an account
 * (OAuth), or the command-line login of the machine. By them it browses *repositories*, puts *webhooks* on them, and modules
 * above get the *credential* of one repository and tell the host what became of a commit.
 */
export function createGitHost(deps: GitHostDeps) {
  const noted = new Map<string, number>()
  return {
    handlers: gitHostHandlers(deps),
    ...createProjectPort(deps),
    /** Which repositories a person of that role may use: `memberRepositories` says which are for members. */
    visibleTo: (viewer: Viewer) => visibilityFor(viewer, deps),
    /** Null: signed with no secret that we know for it. */
    verifyDelivery: (inbound: InboundDelivery) => verifyDelivery(inbound, deps),
    webhookSecretsFor: (provider: GitHostProvider, owner: string, repo: string) => webhookSecretsFor(provider, owner, repo, deps),
    /** Whose app is installed on that owner's account, and not suspended there. */
    organizationsWith: (provider: GitHostProvider, owner: string) => organizationsWith(deps.database.db, provider, owner),
    noteDelivery: async (webhookIds: readonly string[]) => {
      const now = nowOf(deps)
      const due = webhookIds.filter((id) => now - (noted.get(id) ?? 0) >= 1000)
      if (due.length === 0) return
      if (noted.size > mostNoted) noted.clear()
      for (const id of due) noted.set(id, now)
      await noteDeliveries(deps.database.db, due, now)
    },
    /** Removes what is stored of it and tells the organisations whose connection it was. */
    dropInstallation: (provider: GitHostProvider, installationId: number) => dropInstallation(provider, installationId, deps),
    markInstallation: (provider: GitHostProvider, installationId: number, state: 'suspended' | 'resumed') =>
      markInstallation(provider, installationId, state, deps),
  }
}

/** Beyond this many hooks that deliver, what was noted is forgotten: noting again costs a write. */
const mostNoted = 10_000

export type GitHostModule = ReturnType<typeof createGitHost>
