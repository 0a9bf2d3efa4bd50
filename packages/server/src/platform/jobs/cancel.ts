import type { Db } from '../db/schema.ts'
import { isActive } from './statuses.ts'

export type CancelTarget = { id: string } | { uniqueKey: string }

export interface Cancelled {
  id: string
  /** False: the job was still queued and is cancelled now. True: its run gets the abort signal. */
  isRunning: boolean
}

/** Returns undefined if there is no such job or it has ended. The caller must also end the row that the job belongs to. */
export async function requestCancel(db: Db, now: Date, target: CancelTarget): Promise<Cancelled | undefined> {
  const { id, uniqueKey } = { id: undefined, uniqueKey: undefined, ...target }
  // A single statement decides by the current row, so a concurrent claim happens either before or after it.
  const row = await db
    .updateTable('jobs')
    .set((eb) => ({
      cancelRequested: 1,
      finishedAt: eb.case().when('status', '=', 'queued').then(now.getTime()).else(null).end(),
      status: eb
        .case()
        .when('status', '=', 'queued')
        .then('cancelled' as const)
        .else('running' as const)
        .end(),
    }))
    .where('status', 'in', isActive)
    .$if(id !== undefined, (query) => query.where('id', '=', id as string))
    .$if(uniqueKey !== undefined, (query) => query.where('uniqueKey', '=', uniqueKey as string))
    .returning(['id', 'status'])
    .executeTakeFirst()
  return row && { id: row.id, isRunning: row.status === 'running' }
}
