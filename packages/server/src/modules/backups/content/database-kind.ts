import type { ExecCommand, Runtime } from '../../../drivers/runtime/runtime.ts'
import type { ArtifactKind } from '../../../platform/db/tables/backups.ts'
import type { DataUnit } from '../../deployments/index.ts'

/** A running service and the runtime to execute commands in it. */
export interface RunningUnit extends DataUnit {
  instance: NonNullable<DataUnit['instance']>
  runtime: Runtime
}

/** A dump that a database's own tool makes: one database of the server, or all of them. */
export interface Dump {
  /** Appended to the service's name. */
  name: string
  extension: string
  command: ExecCommand
  details: DumpDetails
}

export interface DumpDetails {
  service: string
  /** The database, if the dump holds only one. */
  database?: string
  /** Server-wide objects outside the databases, such as users. */
  globals?: true
  /** The dump is restored by writing this file to this volume while the server is stopped. */
  file?: { volume: string; path: string }
}

/** Temporary database of a trial restore. One that a killed trial left is dropped by the next trial, and dumps skip it. */
export const trialDatabase = 'berth_trial'

/** Detection, dump and load of a kind of database with its own tools. */
export interface DatabaseKind {
  kind: ArtifactKind
  recognises(unit: DataUnit): boolean
  /** Lists the dumps to make now. Null: the database's files can be copied while it runs, and are saved like any volume. */
  dumps(unit: RunningUnit, abort: AbortSignal): Promise<Dump[] | null>
  /** Loads the content into a temporary database of the server, and returns its number of tables. */
  tryRestore?(unit: RunningUnit, details: DumpDetails, content: AsyncIterable<Uint8Array>, abort: AbortSignal): Promise<number>
  /** Replaces the current data with the content; absent where the dump is restored as a file of a volume. */
  load?(unit: RunningUnit, details: DumpDetails, content: AsyncIterable<Uint8Array>, abort: AbortSignal): Promise<void>
}
