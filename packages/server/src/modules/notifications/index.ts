import type { Job } from '../../jobs/declare.ts'
import type { Schedule } from '../../jobs/schedules.ts'
import { announceJob } from './announce.ts'
import { deliverJob } from './deliver.ts'
import type { NotificationsDeps } from './deps.ts'
import { notificationsHandlers } from './handlers.ts'
import { notificationsLoaders } from './loaders.ts'
import { pruneJob } from './prune.ts'
import { watchers } from './watchers/watchers.ts'

export { createDeliveryDrivers } from './delivery-drivers.ts'
export type { NotificationsDeps } from './deps.ts'
export type { ChannelSettings, DeliveryDrivers } from './kinds/kind.ts'
export type * from './watchers/watched.ts'

/**
 * Telling people. Other modules *announce* what happened; each person's *channels*, their *subscriptions* and the
 * organisation's *defaults* say who is told, and every (person, channel, announcement) is one *delivery*. Those in the in-app
 * channel are the person's *feed*. *Watchers* announce what nobody else would notice.
 */
export function createNotifications(deps: NotificationsDeps) {
  const watching = [...watchers(deps), { job: pruneJob(deps), everySeconds: 3600 }]
  return {
    handlers: notificationsHandlers(deps),
    loaders: notificationsLoaders(deps),
    jobs: [announceJob(deps), deliverJob(deps), ...watching.map(({ job }) => job)] as Job<unknown, undefined>[],
    schedules: watching.map(
      ({ job, everySeconds }): Schedule<unknown> => ({ key: job.kind, job, payload: {}, rhythm: { everySeconds } }),
    ),
  }
}
