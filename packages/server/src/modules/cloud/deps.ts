import type { CloudApi } from '../../drivers/cloud-api/cloud-api.ts'
import type { Caller } from '../../http/handler.ts'
import type { Awaitable } from '../../platform/awaitable.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Database } from '../../platform/database.ts'
import type { Log } from '../../platform/log.ts'
import type { Scrubber } from '../../platform/secrets/scrubber.ts'
import type { SecretBox } from '../../platform/secrets/secret-box.ts'

export interface CloudDeps {
  database: Database
  clock: Clock
  log: Log
  secretBox: SecretBox
  /** The instance's own: no line of its log shows a link's token. */
  scrubber: Scrubber
  api: CloudApi
  isOperator(caller: Caller): Awaitable<boolean>
}
