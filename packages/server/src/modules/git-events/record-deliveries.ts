import type { Insertable } from 'kysely'
import { batchWrites } from '../../platform/batch-writes.ts'
import type { Db } from '../../platform/db/schema.ts'
import type { GitDeliveriesTable } from '../../platform/db/tables/git-events.ts'
import { type JobOwner, sharedKind } from '../../platform/jobs/declare.ts'
import { enqueueAll } from '../../platform/jobs/enqueue.ts'
import type { GitEventsDeps } from './deps.ts'
import { insertDeliveries, markHandled } from './store.ts'

export const handleKind = sharedKind<{ key: string }>('git-events.handle')

type Row = Insertable<GitDeliveriesTable>

/** A verified delivery: its row, the row with the hash of its body, and its job group and owner. */
export interface Incoming {
  row: Row
  copy: Row | null
  groupKey: string
  owner: JobOwner
}

const maxBatch = 50

/** Records each delivery once, with its job. Writes are batched, because hosts send bursts. */
export const createRecorder = (deps: Pick<GitEventsDeps, 'database' | 'clock'>): ((incoming: Incoming) => Promise<boolean>) =>
  batchWrites(maxBatch, (deliveries) => recordAll(deliveries, deps))

/** Records deliveries. False for a duplicate: the same id, or a push with the same body that was replayed under another id. */
const recordAll = (
  deliveries: readonly Incoming[],
  { database, clock }: Pick<GitEventsDeps, 'database' | 'clock'>,
): Promise<boolean[]> =>
  database.transaction(async (transaction) => {
    const { db } = transaction
    const areNew = await insertOnce(
      db,
      deliveries.map(({ row }) => row),
    )
    const copied = await insertOnce(
      db,
      deliveries.map(({ copy }, at) => (areNew[at] ? copy : null)),
    )
    const recorded = deliveries.map(({ copy }, at) => areNew[at]! && (copy === null || copied[at]!))
    for (const [at, { row }] of deliveries.entries())
      if (areNew[at] && !recorded[at]) await markHandled(db, row.key, row.receivedAt as number)
    const jobs = deliveries.flatMap(({ row, groupKey, owner }, at) =>
      recorded[at] && row.handledAt === null ? [{ payload: { key: row.key }, owner, groupKey, priority: 50 }] : [],
    )
    await enqueueAll(transaction, clock.now(), handleKind, jobs)
    return recorded
  })

/** Inserts the rows and says which are new. Of two rows with one key, only the first is: `delete` returns true once per key. */
async function insertOnce(db: Db, rows: readonly (Row | null)[]): Promise<boolean[]> {
  const inserted = await insertDeliveries(
    db,
    rows.filter((row) => row !== null),
  )
  return rows.map((row) => row !== null && inserted.delete(row.key))
}
