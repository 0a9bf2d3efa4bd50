import type { ProjectRow } from '../../platform/db/tables/projects.ts'
import { job, sharedKind } from '../../platform/jobs/declare.ts'
import type { TransactionContext } from '../../platform/transaction.ts'
import type { LinksDeps } from './deps.ts'

interface RemovalPayload {
  linkId: string
  serverId: string | null
  projectId: string
}

const removal = sharedKind<RemovalPayload>('links.remove-network')

/** Queues the removal of a deleted link's network. */
export const enqueueNetworkRemoval = (
  linkId: string,
  { id: projectId, serverId }: Pick<ProjectRow, 'id' | 'serverId'>,
  transaction: TransactionContext,
): Promise<unknown> =>
  transaction.enqueue(removal.of({ projectId }), { linkId, serverId, projectId }, { uniqueKey: `${removal.kind}:${linkId}` })

export const networkRemovalJob = (deps: LinksDeps) =>
  job<RemovalPayload, unknown>(removal, {
    deadlineMs: 5 * 60_000,
    // A server may be unreachable for weeks; the removal is retried until it succeeds.
    maxAttempts: Number.MAX_SAFE_INTEGER,
    run: ({ linkId, serverId }, _, abort) => deps.deployments.removeLinkNetwork(linkId, serverId, abort),
  })
