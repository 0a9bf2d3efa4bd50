import type { ExecCommand, Runtime } from '../../../drivers/runtime/runtime.ts'
import type { ArtifactKind } from '../../../platform/db/tables/backups.ts'
import type { DataUnit } from '../../deployments/index.ts'

/** A service that runs, and how to speak to it. */
export interface RunningUnit extends DataUnit {
  instance: NonNullable<DataUnit['instance']>
  runtime: Runtime
}

/** One thing that a database's own tool saves: a database of the server, or all of it. */
export interface Dump {
  /** Added to the service's name. */
  name: string
  extension: string
  command: ExecCommand
  details: DumpDetails
}

export interface DumpDetails {
  service: string
  /** The database of that name alone. */
  database?: string
  /** What the server holds beside its databases, such as its users. */
  globals?: true
  /** Brought back as this file of this volume, while the server does not run. */
  file?: { volume: string; path: string }
}

/** What a trial is loaded into. One that was killed leaves it: the next one takes it away, and no dump holds it. */
export const trialDatabase = 'berth_trial'

/** How a kind of database is found, saved and brought back with its own tools. */
export interface DatabaseKind {
  kind: ArtifactKind
  recognises(unit: DataUnit): boolean
  /** What there is to save now. Null: its files are good as they lie there, and are saved as any volume. */
  dumps(unit: RunningUnit, abort: AbortSignal): Promise<Dump[] | null>
  /** Loads the content into a throw-away database of the server, and says how many tables came out of it. */
  prove?(unit: RunningUnit, details: DumpDetails, content: AsyncIterable<Uint8Array>, abort: AbortSignal): Promise<number>
  /** Puts the content in the place of what is there; absent where that is done by a file of a volume. */
  load?(unit: RunningUnit, details: DumpDetails, content: AsyncIterable<Uint8Array>, abort: AbortSignal): Promise<void>
}
