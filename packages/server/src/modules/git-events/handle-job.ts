import { job } from '../../platform/jobs/declare.ts'
import type { Delivery } from '../git-host/index.ts'
import { type GitEventsDeps, nowOf } from './deps.ts'
import { followPullRequest } from './pull-requests.ts'
import { deployPush } from './push.ts'
import { handleKind } from './receive.ts'
import { findDelivery, markHandled } from './store.ts'

/** Acts on one delivery. May run twice: what it asks for is asked for by a key, and is there already the second time. */
export const handleJob = (deps: GitEventsDeps) =>
  job<{ key: string }, unknown>(handleKind.kind, {
    deadlineMs: 10 * 60_000,
    concurrency: 4,
    maxAttempts: 8,
    async run({ key }) {
      const { db } = deps.database
      const row = await findDelivery(db, key)
      if (!row?.delivery) return
      const delivery = JSON.parse(row.delivery) as Delivery
      await act(row.provider, delivery, JSON.parse(row.organizations), deps)
      await markHandled(db, key, nowOf(deps))
    },
    onFailed: async ({ key }, { message }) => {
      deps.log.error({ key, message }, 'what a git host reported could not be acted on')
      await markHandled(deps.database.db, key, nowOf(deps))
    },
  })

type Provider = Parameters<GitEventsDeps['gitHost']['organizationsWith']>[0]

async function act(provider: Provider, delivery: Delivery, organizations: string[] | 'all', deps: GitEventsDeps): Promise<void> {
  const { gitHost } = deps
  // Only the app's own webhook speaks of installations: a hook is on one repository.
  if (delivery.kind.startsWith('installation_') && organizations !== 'all') return
  if (delivery.kind === 'installation_deleted') {
    await gitHost.dropInstallation(provider, delivery.installationId)
  } else if (delivery.kind === 'installation_suspended' || delivery.kind === 'installation_resumed') {
    const state = delivery.kind === 'installation_suspended' ? 'suspended' : 'resumed'
    await gitHost.markInstallation(provider, delivery.installationId, state)
  } else if (delivery.kind === 'push' || delivery.kind === 'pull_request') {
    const { repository } = delivery
    const ids = organizations === 'all' ? await gitHost.organizationsWith(provider, repository.owner) : organizations
    const projects = await deps.projects.listOfRepository({ provider, ...repository }, ids)
    if (delivery.kind === 'push') await deployPush(projects, delivery, deps)
    else await followPullRequest(projects, delivery, deps)
  }
}
