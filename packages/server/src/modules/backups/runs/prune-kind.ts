import { sharedKind } from '../../../platform/jobs/declare.ts'
import type { Bound } from '../../../platform/transaction.ts'
import { groupOf } from './clean-up-kind.ts'

export interface PrunePayload {
  projectId: string
}

export const prune = sharedKind<PrunePayload>('backups.prune')

/** In the project's turn, so that nothing is taken away that a run counts on. */
export const prunePlan = (projectId: string, { enqueue }: Bound) =>
  enqueue(prune.of({ projectId }), { projectId }, { uniqueKey: `${prune.kind}:${projectId}`, groupKey: groupOf(projectId) })
