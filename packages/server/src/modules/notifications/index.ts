import type { Job } from '../../platform/jobs/declare.ts'
import type { Schedule } from '../../platform/jobs/schedules.ts'
import { deliverJob } from './delivery/deliver.ts'
import { pruneJob } from './delivery/prune.ts'
import type { NotificationsDeps } from './deps.ts'
import { announceJob } from './fan-out/announce.ts'
import { notificationsHandlers } from './handlers.ts'
import { notificationsLoaders } from './loaders.ts'
import { watchers } from './watchers/watchers.ts'

export { createDeliveryDrivers } from './delivery/delivery-drivers.ts'
export type { NotificationsDeps } from './deps.ts'
export type { ChannelSettings, DeliveryDrivers } from './kinds/kind.ts'
export type * from './watched.ts'

/**
 * Notifications. Other modules *announce* events. Each user's *channels* and *subscriptions* and the organisation's *defaults*
 * decide who is notified; each (user, channel, announcement) is one *delivery*. In-app deliveries are the user's *feed*.
 * *Watchers* announce conditions that no module reports, such as an expiring token.
 */
export function createNotifications(deps: NotificationsDeps) {
  const watching = [...watchers(deps), { job: pruneJob(deps), everySeconds: 3600 }]
  return {
    handlers: notificationsHandlers(deps),
    loaders: notificationsLoaders(deps),
    jobs: [announceJob(deps), deliverJob(deps), ...watching.map(({ job }) => job)] as Job<unknown, undefined>[],
    schedules: watching.map(
      ({ job, everySeconds }): Schedule<unknown> => ({ key: job.kind, job, payload: {}, recurrence: { everySeconds } }),
    ),
  }
}
