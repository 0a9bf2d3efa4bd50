import type { Clock } from '../../platform/clock.ts'
import type { Database } from '../../platform/database.ts'
import type { Log } from '../../platform/log.ts'
import type { Scrubber } from '../../platform/secrets/scrubber.ts'
import type { SecretBox } from '../../platform/secrets/secret-box.ts'
import type { ChannelSettings, DeliveryDrivers } from './kinds/kind.ts'
import type { Watched } from './watched.ts'

export interface NotificationsDeps {
  database: Database
  clock: Clock
  log: Log
  secretBox: SecretBox
  /** Registers channel secrets before they are used. */
  scrubber: Pick<Scrubber, 'register'>
  settings: ChannelSettings
  drivers: Omit<DeliveryDrivers, 'now'>
  /** Public URL of this instance, without a trailing slash. */
  publicUrl: () => string
  /** Sources of the watchers; an absent one is not watched. */
  watched: Watched
}

export const nowOf = ({ clock }: Pick<NotificationsDeps, 'clock'>): number => clock.now().getTime()
