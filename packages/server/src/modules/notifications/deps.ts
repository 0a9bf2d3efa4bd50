import type { Clock } from '../../platform/clock.ts'
import type { Database } from '../../platform/database.ts'
import type { Log } from '../../platform/log.ts'
import type { Scrubber } from '../../platform/secrets/scrubber.ts'
import type { SecretBox } from '../../platform/secrets/secret-box.ts'
import type { ChannelSettings, DeliveryDrivers } from './channels/kinds/kind.ts'
import type { Watched } from './watchers/watched.ts'

export interface NotificationsDeps {
  database: Database
  clock: Clock
  log: Log
  secretBox: SecretBox
  /** Learns the secrets of channels before they are used. */
  scrubber: Pick<Scrubber, 'register'>
  settings: ChannelSettings
  drivers: Omit<DeliveryDrivers, 'now'>
  /** Where browsers reach this instance, without a slash at the end. */
  publicUrl: () => string
  /** What the watchers look at; one that is left out is not watched. */
  watched: Watched
}

export const nowOf = ({ clock }: Pick<NotificationsDeps, 'clock'>): number => clock.now().getTime()
