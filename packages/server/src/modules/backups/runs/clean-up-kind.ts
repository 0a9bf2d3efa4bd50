import type { RunRow } from '../../../platform/db/tables/backups.ts'
import { sharedKind } from '../../../platform/jobs/declare.ts'
import type { Bound } from '../../../platform/transaction.ts'

export interface CleanUpPayload {
  runId: string
}

/** Runs the post-command that is still due, and takes away what a run that did not succeed has left. */
export const cleanUp = sharedKind<CleanUpPayload>('backups.tidy')

/** What reads or writes a project's backups goes one after the other: no part is taken away while a run counts on it. */
export const groupOf = (projectId: string) => `backups:${projectId}`

export const cleanUpAfter = (
  { id, projectId, organizationId }: Pick<RunRow, 'id' | 'projectId' | 'organizationId'>,
  { enqueue }: Bound,
) =>
  enqueue(
    cleanUp.of({ organizationId }),
    { runId: id },
    { uniqueKey: `${cleanUp.kind}:${id}`, groupKey: groupOf(projectId), priority: 10 },
  )
