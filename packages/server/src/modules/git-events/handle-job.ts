import { Type } from 'typebox'
import { gitDeliveryJson } from '../../platform/db/json-columns/git-events.ts'
import { jsonColumn } from '../../platform/db/json-columns/json-column.ts'
import type { GitDeliveryRow } from '../../platform/db/tables/git-events.ts'
import { job } from '../../platform/jobs/declare.ts'
import type { Delivery } from '../git-host/index.ts'
import { type GitEventsDeps, nowOf } from './deps.ts'
import { followPullRequest } from './pull-requests.ts'
import { deployPush } from './push.ts'
import { handleKind } from './record-deliveries.ts'
import { findDelivery, hasNewerWaiting, listNewerHandled, markHandled } from './store.ts'

/**
 * Limit of queued deliveries of one branch or pull request. Above it they arrive faster than they can be built, and only the
 * newest are handled.
 */
const maxWaiting = 10

const deliveryContent = jsonColumn('gitDeliveries', 'delivery', Type.Unsafe<Delivery>(Type.Object({ kind: Type.String() })), [
  'key',
])

/** Handles one delivery. May run twice: deployments have a request key, so the second run finds the existing one. */
export const handleJob = (deps: GitEventsDeps) =>
  job<{ key: string }, unknown>(handleKind, {
    deadlineMs: 10 * 60_000,
    concurrency: 4,
    // A push during a transfer waits for its end, for about half an hour.
    maxAttempts: 14,
    async run({ key }, _deps, _abort, { attempt }) {
      const { db } = deps.database
      const row = await findDelivery(db, key)
      const delivery = row && deliveryContent(row)
      if (!delivery) return
      if (row.subject === null || !(await hasNewerWaiting(db, row, maxWaiting))) await act(row, delivery, attempt, deps)
      await markHandled(db, key, nowOf(deps))
    },
    onFailed: async ({ key }, { message }) => {
      deps.log.error({ key, message }, 'git-events: webhook event not processed')
      await markHandled(deps.database.db, key, nowOf(deps))
    },
  })

async function act(row: GitDeliveryRow, delivery: Delivery, attempt: number, deps: GitEventsDeps): Promise<void> {
  const { gitHost } = deps
  const { provider } = row
  const organizations = gitDeliveryJson.organizations(row)
  // Only the app's own webhook reports installations; other webhooks belong to one repository.
  if (delivery.kind.startsWith('installation_') && organizations !== 'all') return
  if (delivery.kind === 'installation_deleted') {
    await gitHost.dropInstallation(provider, delivery.installationId)
  } else if (delivery.kind === 'installation_suspended' || delivery.kind === 'installation_resumed') {
    const state = delivery.kind === 'installation_suspended' ? 'suspended' : 'resumed'
    await gitHost.markInstallation(provider, delivery.installationId, state)
  } else if (delivery.kind === 'push' || delivery.kind === 'pull_request') {
    const { repository } = delivery
    const ids = organizations === 'all' ? await gitHost.organizationsWith(provider, repository.owner) : organizations
    if (await deps.projects.isBeingTransferred({ provider, ...repository }, ids))
      throw new Error('a project of this repository is being transferred; the push waits until the transfer has ended')
    const hasNewer = attempt > 1 ? await newerDeliveryCheck(row, organizations, deps) : () => false
    const projects = await deps.projects.listOfRepository(
      { provider, ...repository },
      ids.filter((id) => !hasNewer(id)),
    )
    if (delivery.kind === 'push') await deployPush(projects, delivery, deps)
    else await followPullRequest(projects, delivery, deps)
  }
}

/**
 * Returns a check whether a newer delivery was already handled for an organisation. A retry may run after a later delivery and must
 * not undo its effect.
 */
async function newerDeliveryCheck(row: GitDeliveryRow, organizations: string[] | 'all', { database }: GitEventsDeps) {
  const newer = row.subject === null ? [] : await listNewerHandled(database.db, row)
  const organizationLists = newer.map((one) => gitDeliveryJson.organizations(one))
  return (id: string) => organizationLists.some((ids) => (ids === 'all' ? organizations === 'all' : ids.includes(id)))
}
