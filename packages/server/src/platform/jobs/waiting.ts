import type { Db } from '../db/schema.ts'
import type { JobKind } from './declare.ts'
import { isQueued } from './statuses.ts'

export interface WaitingJob<Payload> {
  id: string
  payload: Payload
}

/** Jobs of this kind that are due and that nobody has begun yet, the longest due first. One that failed once is not among them. */
export async function findWaiting<Payload>(
  db: Db,
  { kind }: JobKind<Payload>,
  now: Date,
  most: number,
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
    .limit(most)
    .execute()
  return rows.map(({ id, payload }) => ({ id, payload: JSON.parse(payload) as Payload }))
}

/**
 * Ends those that still wait as succeeded: the work of each must commit in the same transaction. Tells which they are; any
 * other was taken by a worker meanwhile, which does it.
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
