import type { ServerReader } from '../../drivers/runtime/server/server-reader.ts'
import type { Caller } from '../../http/handler.ts'
import type { Database } from '../../platform/database.ts'
import type { Log } from '../../platform/log.ts'
import type { StackFiles, StackReading } from '../../source/compose/index.ts'

export interface MigrationDeps {
  database: Database
  log: Log
  servers: ServersOfMigration
  /** Reads Compose files in a process of its own, with its limits. */
  readStack(files: StackFiles, abort: AbortSignal): Promise<StackReading>
}

/** What migration asks of the servers module. */
export interface ServersOfMigration {
  /** Undefined where the caller's organisation has no such server. */
  reader(serverId: string, caller: Caller): Promise<ServerReader | undefined>
}
