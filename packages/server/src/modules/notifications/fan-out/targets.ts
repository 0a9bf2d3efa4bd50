import { newId } from '../../../platform/db/ids.ts'
import type { Announcement } from '../../../platform/jobs/announce.ts'
import type { Bound } from '../../../platform/transaction.ts'
import * as store from '../delivery/delivery-store.ts'
import { type NotificationsDeps, nowOf } from '../deps.ts'
import { insertChannel } from '../store.ts'
import { channelsToTell, isOnByDefault, lacksFeed } from './audience.ts'
import type { Target } from './plan-deliveries.ts'

/** The channels that get an announcement; two that agree in these three have the same. */
export async function findTargets(
  bound: Bound,
  { organizationId, category, userId }: Pick<Announcement, 'organizationId' | 'category' | 'userId'>,
  deps: NotificationsDeps,
): Promise<Target[]> {
  const onByDefault = isOnByDefault(category, await store.findDefault(bound.db, organizationId, category))
  const rows = await store.findPeople(bound.db, organizationId, category, userId)
  const targets: Target[] = []
  for (const [person, theirs] of Map.groupBy(rows, (row) => row.userId)) {
    const channels = theirs.flatMap(asTarget)
    if (lacksFeed(channels, onByDefault)) channels.push(await makeFeed(bound, person, organizationId, deps))
    targets.push(...channelsToTell(channels, onByDefault))
  }
  return targets
}

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

/** Everyone has a feed: its channel is made when something first goes there. */
async function makeFeed({ db }: Bound, userId: string, organizationId: string, deps: NotificationsDeps): Promise<Target> {
  const now = nowOf(deps)
  const { id } = await insertChannel(db, {
    id: newId('nch'),
    organizationId,
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
  return { id, userId, kind: 'in_app', enabled: true, verified: true, subscribed: null }
}
