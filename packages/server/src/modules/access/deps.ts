import type { Quotas } from '@berth/contract'
import type { Mailer } from '../../drivers/mail/mailer.ts'
import type { RateLimiter } from '../../http/rate-limit.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Database } from '../../platform/database.ts'
import type { Log } from '../../platform/log.ts'
import type { SecretBox } from '../../platform/secrets/secret-box.ts'

export interface SignUpSettings {
  mode: 'closed' | 'invitation' | 'open'
  /** From wherever they come. */
  perHour: number
}

export interface AccessDeps {
  database: Database
  clock: Clock
  log: Log
  limiter: Pick<RateLimiter, 'take' | 'giveBack'>
  secretBox: Pick<SecretBox, 'sign' | 'isSigned'>
  /** Where browsers reach this instance, without a slash at the end. */
  publicUrl: () => string
  /** The subset that are projects of the organisation, here or in its linked cloud. Absent: none. */
  ownedProjects?(organizationId: string, projectIds: readonly string[]): Promise<ReadonlySet<string>>
  /** Who may make an account of their own; absent on a self-hosted instance, where nobody does. */
  signUp?: SignUpSettings
  /** How many organisations one person may own; null: any number. */
  organizationsEach?: number | null
  /** What an organisation may have, and has; absent: nobody counts. */
  quotasOf?(organizationId: string): Promise<Quotas | null>
  /** A cloud: its organisations are strangers to each other and to the operator. */
  isCloud?: boolean
  mailer?: Pick<Mailer, 'configured' | 'send'>
  /** Nothing keeps projects apart here and nobody said that all are trusted: one person may deploy, in one organisation. */
  onlyOnePerson?: boolean
}
