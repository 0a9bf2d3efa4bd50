import type { Clock } from '../../db/clock.ts'
import type { Log } from '../../db/log.ts'
import type { Database } from '../../db/open.ts'

export interface AccessDeps {
  database: Database
  clock: Clock
  log: Log
  /** Where browsers reach this instance, without a slash at the end. */
  publicUrl: () => string
  /** Nothing keeps projects apart here and nobody said that all are trusted: one person may deploy, in one organisation. */
  onlyOnePerson?: boolean
}
