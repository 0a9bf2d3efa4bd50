import type { Quotas } from '@berth/contract'
import type { Mailer } from '../../drivers/mail/mailer.ts'
import type { RateLimiter } from '../../http/rate-limit.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Database } from '../../platform/database.ts'
import type { Log } from '../../platform/log.ts'
import type { SecretBox } from '../../platform/secrets/secret-box.ts'

export interface SignUpSettings {
  mode: 'closed' | 'invitation' | 'open'
  /** Limit for all clients together. */
  perHour: number
}

export interface AccessDeps {
  database: Database
  clock: Clock
  log: Log
  limiter: Pick<RateLimiter, 'count' | 'uncount'>
  secretBox: Pick<SecretBox, 'sign' | 'isSigned' | 'seal' | 'open'>
  /** Public URL of this instance, without a trailing slash. */
  publicUrl: () => string
  /** The projects among these that the organisation has, here or in its linked cloud. Absent: none. */
  ownedProjects?(organizationId: string, projectIds: readonly string[]): Promise<ReadonlySet<string>>
  /** Sign-up settings; absent on a self-hosted instance, which has no sign-up. */
  signUp?: SignUpSettings
  /** Maximum organisations that a user may own; null: unlimited. */
  organizationsEach?: number | null
  /** Quota limits and usage of an organisation; absent: no quotas. */
  quotasOf?(organizationId: string): Promise<Quotas | null>
  /** True for a cloud: its organisations do not trust each other, and the operator does not trust them. */
  isCloud?: boolean
  mailer?: Pick<Mailer, 'configured' | 'send'>
  /**
   * True where projects are not isolated and the operator did not declare all users trusted. Then one user may deploy, in one
   * organisation.
   */
  isSingleUser?: boolean
}
