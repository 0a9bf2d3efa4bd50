import type { RunRow } from '../../../platform/db/tables/backups.ts'
import { sharedKind } from '../../../platform/jobs/declare.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'

export interface CleanUpPayload {
  runId: string
}

/** Runs the post-command that is still due, and removes the objects of a failed run. */
export const cleanUp = sharedKind<CleanUpPayload>('backups.tidy')

/** Jobs that read or write a project's backups run one after the other: no part is removed while a run relies on it. */
export const groupOf = (projectId: string) => `backups:${projectId}`

export const cleanUpAfter = (
  { id, projectId, organizationId }: Pick<RunRow, 'id' | 'projectId' | 'organizationId'>,
  { enqueue }: TransactionContext,
) =>
  enqueue(
    cleanUp.of({ organizationId }),
    { runId: id },
    { uniqueKey: `${cleanUp.kind}:${id}`, groupKey: groupOf(projectId), priority: 10 },
  )
