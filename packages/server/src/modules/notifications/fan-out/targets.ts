import { newId } from '../../../platform/db/ids.ts'
import type { Db } from '../../../platform/db/schema.ts'
import type { Announcement } from '../../../platform/jobs/announce.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import * as store from '../delivery-store.ts'
import { type NotificationsDeps, nowOf } from '../deps.ts'
import { channelsLock, findInAppChannel, insertChannel, isOptedOutOfFeed } from '../store.ts'
import { channelsToNotify, isOnByDefault, lacksFeed } from './audience.ts'
import type { Target } from './plan-deliveries.ts'

/** The channels that get an announcement. Announcements that agree in these three fields have the same channels. */
export async function findTargets(
  transaction: TransactionContext,
  { organizationId, category, userId }: Pick<Announcement, 'organizationId' | 'category' | 'userId'>,
  deps: NotificationsDeps,
): Promise<Target[]> {
  const onByDefault = isOnByDefault(category, await store.findDefault(transaction.db, organizationId, category))
  const rows = await store.findPeople(transaction.db, organizationId, category, userId)
  const targets: Target[] = []
  // Sorted, so that two announcements that create feeds for the same users cannot deadlock.
  for (const [person, userRows] of [...Map.groupBy(rows, (row) => row.userId)].sort(byUser)) {
    const channels = userRows.flatMap(asTarget)
    const isOptedOut = userRows.some(({ feedOptOutAt }) => feedOptOutAt !== null)
    if (!isOptedOut && lacksFeed(channels, onByDefault)) channels.push(...(await makeFeed(transaction, person, deps)))
    targets.push(...channelsToNotify(channels, onByDefault))
  }
  return targets
}

const byUser = ([one]: readonly [string, unknown], [other]: readonly [string, unknown]) => (one < other ? -1 : 1)

const asTarget = ({ userId, channelId, kind, enabled, verified, subscribed }: store.PersonRow): Target[] =>
  channelId === null || kind === null
    ? []
    : [
        {
          id: channelId,
          userId,
          kind,
          enabled: enabled === 1,
          verified: verified === 1,
          subscribed: subscribed === null ? null : subscribed === 1,
        },
      ]

/** Creates the in-app channel of a user for the first alert, unless another organisation's announcement has just created it. */
async function makeFeed({ db, lock }: TransactionContext, userId: string, deps: NotificationsDeps): Promise<Target[]> {
  await lock(channelsLock({ userId }))
  if (await isOptedOutOfFeed(db, { userId })) return []
  const { id, enabled, verified } = (await findInAppChannel(db, { userId })) ?? (await insertFeed(db, userId, nowOf(deps)))
  return [{ id, userId, kind: 'in_app', enabled: enabled === 1, verified: verified === 1, subscribed: null }]
}

const insertFeed = (db: Db, userId: string, now: number) =>
  insertChannel(db, {
    id: newId('nch'),
    userId,
    kind: 'in_app',
    label: 'In-app',
    config: '{}',
    secrets: null,
    configRevision: 1,
    enabled: true,
    verified: true,
    createdAt: now,
    updatedAt: now,
  })
