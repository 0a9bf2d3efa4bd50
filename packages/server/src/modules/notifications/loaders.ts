import type { Loaders } from '../../http/handler.ts'
import type { NotificationsDeps } from './deps.ts'
import { findDelivery } from './feed/feed-store.ts'
import { findChannelOf, findSubscriptionOf } from './store.ts'

/** Loaders of the objects in route paths: the caller's own channels, subscriptions and deliveries of the active organisation. */
export const notificationsLoaders = ({
  database: { db },
}: NotificationsDeps): Pick<Loaders, 'channel' | 'subscription' | 'delivery'> => ({
  channel: ({ id }, caller) => findChannelOf(db, caller, id!),
  subscription: ({ id }, caller) => findSubscriptionOf(db, caller, id!),
  delivery: ({ id }, caller) => findDelivery(db, caller, id!),
})
