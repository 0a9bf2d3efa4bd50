import type { RunRow } from '../../../platform/db/tables/backups.ts'
import type { JobKind } from '../../../platform/jobs/declare.ts'
import type { Bound } from '../../../platform/transaction.ts'

export interface CleanUpPayload {
  runId: string
}

/** Runs the post-command that is still due, and takes away what a run that did not succeed has left. */
export const cleanUp: JobKind<CleanUpPayload> = { kind: 'backups.tidy' }

/** What reads or writes a project's backups goes one after the other: no part is taken away while a run counts on it. */
export const groupOf = (projectId: string) => `backups:${projectId}`

export const cleanUpAfter = ({ id, projectId }: Pick<RunRow, 'id' | 'projectId'>, { enqueue }: Bound) =>
  enqueue(cleanUp, { runId: id }, { uniqueKey: `${cleanUp.kind}:${id}`, groupKey: groupOf(projectId), priority: 10 })
