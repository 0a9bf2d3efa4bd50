import type { RateLimiter } from '../../http/rate-limit.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Database } from '../../platform/database.ts'
import type { Log } from '../../platform/log.ts'
import type { SecretBox } from '../../platform/secrets/secret-box.ts'

export interface AccessDeps {
  database: Database
  clock: Clock
  log: Log
  limiter: Pick<RateLimiter, 'take' | 'giveBack'>
  secretBox: Pick<SecretBox, 'sign' | 'isSigned'>
  /** Where browsers reach this instance, without a slash at the end. */
  publicUrl: () => string
  /** Which of these are projects of the organisation; absent: there are none yet. */
  ownedProjects?(organizationId: string, projectIds: readonly string[]): Promise<ReadonlySet<string>>
  /** Nothing keeps projects apart here and nobody said that all are trusted: one person may deploy, in one organisation. */
  onlyOnePerson?: boolean
}
