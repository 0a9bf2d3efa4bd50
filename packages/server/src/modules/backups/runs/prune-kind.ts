import { sharedKind } from '../../../platform/jobs/declare.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import { groupOf } from './clean-up-kind.ts'

export interface PrunePayload {
  projectId: string
}

export const prune = sharedKind<PrunePayload>('backups.prune')

/** Enqueued in the project's job group, so that no part is removed that a run relies on. */
export const enqueuePrune = (projectId: string, { enqueue }: TransactionContext) =>
  enqueue(prune.of({ projectId }), { projectId }, { uniqueKey: `${prune.kind}:${projectId}`, groupKey: groupOf(projectId) })
