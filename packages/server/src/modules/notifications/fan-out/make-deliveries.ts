import type { Insertable } from 'kysely'
import type { Database } from '../../../platform/database.ts'
import type { DeliveriesTable } from '../../../platform/db/tables/notifications.ts'
import { type BulkJob, enqueueAll } from '../../../platform/jobs/enqueue.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import type { Recent } from '../burst.ts'
import { deliverKind, groupOf } from '../delivery/deliver.ts'
import * as store from '../delivery-store.ts'
import { type Announced, type ChannelPlan, type Fresh, type Joined, planFor, type Target } from './plan-deliveries.ts'

interface Making {
  transaction: TransactionContext
  kind: Database['kind']
  /** Announcements of one category, in chronological order. */
  announced: Pick<DeliveriesTable, 'organizationId' | 'category'> & { ids: readonly string[] }
  now: number
}

/**
 * Writes the deliveries of some announcements to these channels, with their jobs. Returns the announcements that now have a feed
 * entry.
 */
export async function makeDeliveries(targets: readonly Target[], making: Making): Promise<Set<string>> {
  const { announced, now } = making
  const { db } = making.transaction
  const channelIds = targets.map(({ id }) => id)
  const recent = await store.findRecent(db, channelIds, announced, now)
  const first = momentAfterLast(now)
  const ordered = announced.ids.map((id, at) => ({ id, at: first + at }))
  const planned = targets.map((target) => planFor(target, recent.get(target.id) ?? [], ordered))
  const plans = await joinOrPlanNew(planned, ordered, making)
  const absorbed = await absorbQueued(plans, making)
  await insertFresh(plans, absorbed, making)
  await store.insertJoined({ db, kind: making.kind }, [...plans.flatMap(({ joined }) => joined), ...absorbed])
  const fresh = plans.flatMap((plan) => plan.fresh)
  lastMade = fresh.reduce((last, { state }) => Math.max(last, state.createdAt), first - 1)
  return new Set(fresh.flatMap(({ sendAt, announcementId }) => (sendAt === null ? [announcementId] : [])))
}

let lastMade = 0

/**
 * The feed is ordered by this time, so each new delivery gets its own. The clock's time is used when it differs much, such as
 * after the clock was set back.
 */
const momentAfterLast = (now: number) => (lastMade >= now && lastMade < now + 1_000 ? lastMade + 1 : now)

/** Adds to open digests. A digest whose first attempt has just begun takes no more: the channel is then planned again. */
async function joinOrPlanNew(
  plans: readonly ChannelPlan[],
  ordered: readonly Announced[],
  { transaction, now }: Making,
): Promise<ChannelPlan[]> {
  const open = new Set<string>()
  const byCount = Map.groupBy(
    plans.flatMap(({ joins }) => joins ?? []),
    ({ count }) => count,
  )
  for (const [count, joins] of byCount) {
    const heads = joins.map(({ into }) => into)
    for (const id of await store.joinInto(transaction.db, heads, count)) open.add(id)
  }
  return plans.map((plan) => {
    const { joins, target, recent } = plan
    if (!joins || open.has(joins.into)) return plan
    return planFor(target, recent.map(asSentIf(joins.into, now)), ordered)
  })
}

const asSentIf =
  (id: string, now: number) =>
  (one: Recent): Recent =>
    one.id === id ? { ...one, status: 'sending', attempts: 1, sentAt: now } : one

/** Absorbs queued deliveries into new digests; one whose first attempt has begun is left out. */
async function absorbQueued(plans: readonly ChannelPlan[], { transaction }: Making): Promise<Joined[]> {
  const digestOf = new Map<string, string>()
  for (const { fresh } of plans) for (const { state, merges } of fresh) for (const id of merges) digestOf.set(id, state.id)
  const taken = await store.takeWaiting(transaction.db, [...digestOf.keys()])
  return taken.map(({ id, announcementId }) => ({ id, announcementId, deliveryId: digestOf.get(id)! }))
}

async function insertFresh(plans: readonly ChannelPlan[], absorbed: readonly Joined[], making: Making): Promise<void> {
  const { transaction, now } = making
  const takenBy = Map.groupBy(absorbed, ({ deliveryId }) => deliveryId)
  const rows = plans.flatMap(({ target, fresh }) =>
    fresh.map((one) => ({ one, row: newRow(target, one, takenBy.get(one.state.id)?.length ?? 0, making) })),
  )
  const sent = rows.filter(({ one }) => one.sendAt !== null)
  const jobIds = await enqueueAll(transaction, new Date(now), deliverKind, sent.map(asJob))
  for (const [at, { row }] of sent.entries()) row.jobId = jobIds[at]!
  await store.insertDeliveries(
    transaction.db,
    rows.map(({ row }) => row),
  )
}

interface NewRow {
  one: Fresh
  row: Insertable<DeliveriesTable>
}

const asJob = ({ one, row }: NewRow): BulkJob<{ deliveryId: string }> => ({
  payload: { deliveryId: row.id },
  owner: { organizationId: row.organizationId },
  runAt: new Date(one.sendAt!),
  groupKey: groupOf(row.channelId),
})

function newRow(target: Target, { state, announcementId, merges }: Fresh, taken: number, { announced }: Making): NewRow['row'] {
  return {
    ...state,
    // As planned, minus the deliveries that were sent before they could be absorbed.
    joinedCount: state.joinedCount - merges.length + taken,
    announcementId,
    organizationId: announced.organizationId,
    userId: target.userId,
    channelId: target.id,
    channelKind: target.kind,
    category: announced.category,
    jobId: null,
  }
}
