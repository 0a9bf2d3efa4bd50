import type { Loaders } from '../../http/handler.ts'
import type { NotificationsDeps } from './deps.ts'
import { findDelivery } from './feed/feed-store.ts'
import { findChannelOf, findSubscriptionOf } from './store.ts'

/** How the guard finds the object that a route names: the caller's own, subscriptions and deliveries of the active organisation. */
export const notificationsLoaders = ({
  database: { db },
}: NotificationsDeps): Pick<Loaders, 'channel' | 'subscription' | 'delivery'> => ({
  channel: ({ id }, caller) => findChannelOf(db, caller, id!),
  subscription: ({ id }, caller) => findSubscriptionOf(db, caller, id!),
  delivery: ({ id }, caller) => findDelivery(db, caller, id!),
})
