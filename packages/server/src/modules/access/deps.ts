import type { Clock } from '../../db/clock.ts'
import type { Log } from '../../db/log.ts'
import type { Database } from '../../db/open.ts'
import type { RateLimiter } from '../../http/rate-limit.ts'
import type { SecretBox } from '../../secrets/secret-box.ts'

export interface AccessDeps {
  database: Database
  clock: Clock
  log: Log
  limiter: Pick<RateLimiter, 'take' | 'giveBack'>
  secretBox: Pick<SecretBox, 'sign' | 'isSigned'>
  /** Where browsers reach this instance, without a slash at the end. */
  publicUrl: () => string
  /** Nothing keeps projects apart here and nobody said that all are trusted: one person may deploy, in one organisation. */
  onlyOnePerson?: boolean
}
