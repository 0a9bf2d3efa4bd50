import { jobJson } from '../db/json-columns/jobs.ts'
import type { Db } from '../db/schema.ts'
import type { JobKind } from './declare.ts'
import { isQueued } from './statuses.ts'

export interface WaitingJob<Payload> {
  id: string
  payload: Payload
}

/** Due jobs of this kind that have not been attempted yet, the longest due first. */
export async function findWaiting<Payload>(
  db: Db,
  { kind }: JobKind<Payload>,
  now: Date,
  max: number,
): Promise<WaitingJob<Payload>[]> {
  const rows = await db
    .selectFrom('jobs')
    .select(['id', 'payload'])
    .where('status', '=', isQueued)
    .where('kind', '=', kind)
    .where('runAt', '<=', now.getTime())
    .where('attempts', '=', 0)
    .orderBy('runAt')
    .orderBy('sequence')
    .limit(max)
    .execute()
  return rows.map((row) => ({ id: row.id, payload: jobJson.payload(row) as Payload }))
}

/**
 * Marks those that are still queued as succeeded: the caller must do their work in the same transaction. Returns their ids; any
 * other job was claimed by a worker meanwhile, which does its work.
 */
export async function endWaiting(db: Db, ids: readonly string[], now: Date): Promise<Set<string>> {
  if (ids.length === 0) return new Set()
  const ended = await db
    .updateTable('jobs')
    .set({ status: 'succeeded', attempts: 1, finishedAt: now.getTime() })
    .where('id', 'in', ids)
    .where('status', '=', isQueued)
    .where('attempts', '=', 0)
    .returning('id')
    .execute()
  return new Set(ended.map(({ id }) => id))
}
