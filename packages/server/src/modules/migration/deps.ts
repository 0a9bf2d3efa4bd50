import type { CreateProject, Project } from '@berth/contract'
import type { Runtimes } from '../../drivers/runtime/runtimes.ts'
import type { ServerReader } from '../../drivers/runtime/server/server-reader.ts'
import type { Caller } from '../../http/handler.ts'
import type { Awaitable } from '../../platform/awaitable.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Database } from '../../platform/database.ts'
import type { ProjectRow } from '../../platform/db/tables/projects.ts'
import type { KeyedMutex } from '../../platform/keyed-mutex.ts'
import type { Log } from '../../platform/log.ts'
import type { StackFiles, StackReading } from '../../source/compose/index.ts'
import type { RecordedWith } from '../projects/index.ts'

export interface MigrationDeps {
  /** Whether the caller is an operator of this instance. */
  isOperator(caller: Caller): Awaitable<boolean>
  database: Database
  clock: Clock
  log: Log
  runtimes: Runtimes
  /** Serializes the reads of one server. */
  locks: KeyedMutex
  /** Reader of a server that was found in the caller's organisation. */
  readerOf(serverId: string): ServerReader
  /** Reads Compose files in a separate process with resource limits. */
  readStack(files: StackFiles, readFor: { organizationId: string; abort: AbortSignal }): Promise<StackReading>
  projects: {
    create(body: CreateProject, caller: Caller, recordedWith: RecordedWith): Promise<ProjectRow>
    show(project: ProjectRow): Promise<Project>
  }
}
