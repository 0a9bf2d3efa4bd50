import type { RunRow } from '../../../platform/db/tables/backups.ts'
import type { JobKind } from '../../../platform/jobs/declare.ts'
import type { Bound } from '../../../platform/transaction.ts'

export interface TidyPayload {
  runId: string
}

/** Runs the post-command that is still due, and takes away what a run that did not succeed has left. */
export const tidyUp: JobKind<TidyPayload> = { kind: 'backups.tidy' }

/** What reads or writes a project's backups goes one after the other: no part is taken away while a run counts on it. */
export const groupOf = (projectId: string) => `backups:${projectId}`

export const tidyAfter = ({ id, projectId }: Pick<RunRow, 'id' | 'projectId'>, { enqueue }: Bound) =>
  enqueue(tidyUp, { runId: id }, { uniqueKey: `${tidyUp.kind}:${id}`, groupKey: groupOf(projectId), priority: 10 })
