import type { ServerReader } from '../../drivers/runtime/server/server-reader.ts'
import type { ServerLinks } from '../../drivers/shell/ssh/server-link.ts'
import type { Caller } from '../../http/handler.ts'
import type { Awaitable } from '../../platform/awaitable.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Database } from '../../platform/database.ts'
import type { Db } from '../../platform/db/schema.ts'
import type { Log } from '../../platform/log.ts'
import type { Scrubber } from '../../platform/secrets/scrubber.ts'
import type { SecretBox } from '../../platform/secrets/secret-box.ts'

export interface ServersDeps {
  database: Database
  clock: Clock
  log: Log
  secretBox: SecretBox
  /** Receives keys and passwords before they are used, so that they are redacted from the log. */
  scrubber: Pick<Scrubber, 'register'>
  links: ServerLinks
  readerOf(serverId: string): ServerReader
  isOperator(caller: Caller): Awaitable<boolean>
  settings: { mode: 'self-hosted' | 'cloud' }
  /** Set by the code that assembles the instance, once the modules above this one exist. */
  ports: ServerPorts
}

/** Interfaces that modules above this one implement. */
export interface ServerPorts {
  /** Names the objects that still use a server; empty: none. */
  usesOf?(db: Db, serverId: string): Promise<string[]>
}

export const nowOf = ({ clock }: Pick<ServersDeps, 'clock'>): number => clock.now().getTime()
