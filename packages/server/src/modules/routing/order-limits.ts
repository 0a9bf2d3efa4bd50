import type { Database } from '../../platform/database.ts'
import type { Db } from '../../platform/db/schema.ts'
import { zoneOf } from './assigned-hostnames.ts'
import { type EdgeDeps, nowOf } from './deps.ts'

const hour = 3_600_000
const day = 24 * hour
/** Let's Encrypt rejects a name after five failed validations in an hour. */
const maxRefusalsPerHour = 4
/** Share of the hourly orders for names at their first use. The rest is kept for connected domains, renewals and the dashboard. */
const firstUseShare = 0.75
const longestBackoffMs = day
const keptMs = 8 * day

/** The reason why an order has to wait, and until when. */
export interface OrderDelay {
  until: number
  reason: string
  /** The authority rejected earlier orders; otherwise this instance's own limit is reached. */
  isRefusal: boolean
}

type Name = {
  hostname: string
  /** A client's use caused the order; renewals, domains and the dashboard have orders kept for them. */
  isFirstUse: boolean
}

/**
 * Registers an order, unless it has to wait. Counting and registering happen under a lock, so concurrent orders do not exceed the
 * limits. Returns the start of the order, or the delay.
 */
export function beginOrder(name: Name, deps: EdgeDeps): Promise<number | OrderDelay> {
  return deps.database.transaction(async ({ db, lock }) => {
    await lock('certificate-orders')
    const delay = await delayOf(name, db, deps)
    if (delay) return delay
    const row = { hostname: name.hostname, zone: zoneOf(name.hostname, deps.settings), startedAt: nowOf(deps) }
    await db
      .insertInto('certificateOrders')
      .values({ ...row, outcome: 'started', retryAt: null })
      .onConflict((conflict) => conflict.columns(['hostname', 'startedAt']).doNothing())
      .execute()
    return row.startedAt
  })
}

export async function endOrder(
  hostname: string,
  startedAt: number,
  outcome: 'issued' | 'refused' | 'failed',
  { database, retryAt = null }: { database: Database; retryAt?: Date | null },
): Promise<void> {
  await database.db
    .updateTable('certificateOrders')
    .set({ outcome, retryAt: retryAt?.getTime() ?? null })
    .where('hostname', '=', hostname)
    .where('startedAt', '=', startedAt)
    .execute()
}

async function delayOf({ hostname, isFirstUse }: Name, db: Db, deps: EdgeDeps): Promise<OrderDelay | null> {
  const now = nowOf(deps)
  const { acmeOrdersPerHour } = deps.settings
  const zone = zoneOf(hostname, deps.settings)
  const blocked = await db
    .selectFrom('certificateOrders')
    .select('retryAt')
    .where('zone', '=', zone)
    .where('retryAt', '>', now)
    .orderBy('retryAt', 'desc')
    .executeTakeFirst()
  if (blocked?.retryAt)
    return delay(blocked.retryAt, `the certificate authority’s rate limit is reached for ${zone}`, { isRefusal: true })
  const recent = await db
    .selectFrom('certificateOrders')
    .select(['hostname', 'startedAt', 'outcome'])
    .where('startedAt', '>', now - hour)
    .orderBy('startedAt')
    .execute()
  const refused = recent.filter((order) => order.hostname === hostname && order.outcome === 'refused')
  if (refused.length >= maxRefusalsPerHour)
    return delay(refused[0]!.startedAt + hour, `${refused.length} orders were refused within an hour`, { isRefusal: true })
  const maxOrders = isFirstUse ? Math.max(1, Math.floor(acmeOrdersPerHour * firstUseShare)) : acmeOrdersPerHour
  if (recent.length < maxOrders) return null
  const oldest = recent[recent.length - maxOrders]!.startedAt
  return delay(oldest + hour, `${recent.length} certificates were ordered within an hour (BERTH_ACME_ORDERS_PER_HOUR)`)
}

const delay = (until: number, reason: string, { isRefusal = false } = {}): OrderDelay => ({
  until,
  reason: `${reason}. The next order is possible at ${new Date(until).toISOString().slice(0, 16)}Z`,
  isRefusal,
})

/** The time of the next order after a failure: an hour later at first, doubling up to a day with each further one. */
export async function nextOrderAfterFailure(db: Db, hostname: string, retryAt: Date | null, now: number): Promise<number> {
  const orders = await db
    .selectFrom('certificateOrders')
    .select('outcome')
    .where('hostname', '=', hostname)
    .where('outcome', '!=', 'started')
    .orderBy('startedAt', 'desc')
    .limit(20)
    .execute()
  const issued = orders.findIndex(({ outcome }) => outcome === 'issued')
  const failures = Math.max(1, issued === -1 ? orders.length : issued)
  return Math.max(retryAt?.getTime() ?? 0, now + Math.min(longestBackoffMs, hour * 2 ** (failures - 1)))
}

/** Deletes orders that no limit counts any more. */
export const forgetOldOrders = async (db: Db, now: number): Promise<void> => {
  await db
    .deleteFrom('certificateOrders')
    .where('startedAt', '<', now - keptMs)
    .where((where) => where.or([where('retryAt', 'is', null), where('retryAt', '<', now)]))
    .execute()
}
