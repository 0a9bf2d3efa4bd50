import type { Caller, Loaders } from '../../http/handler.ts'
import type { NotificationsDeps } from './deps.ts'
import { findDelivery } from './feed-store.ts'
import { findChannelOf, findSubscriptionOf } from './store.ts'

/** How the guard finds what the routes name: the caller's own in the active organisation, or nothing. */
export function notificationsLoaders({
  database: { db },
}: NotificationsDeps): Pick<Loaders, 'channel' | 'subscription' | 'delivery'> {
  return {
    channel: own((caller, id) => findChannelOf(db, caller, id)),
    subscription: own((caller, id) => findSubscriptionOf(db, caller, id)),
    delivery: own((caller, id) => findDelivery(db, caller, id)),
  }
}

/** PostgreSQL takes no NUL, not even to look for. */
const own =
  <Row>(find: (caller: Caller, id: string) => Promise<Row | undefined>) =>
  ({ id = '' }: Record<string, string>, caller: Caller): Promise<Row | undefined> | undefined =>
    id.includes('\0') ? undefined : find(caller, id)
