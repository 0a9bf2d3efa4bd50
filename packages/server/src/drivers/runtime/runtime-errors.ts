import type { VolumeRef } from './runtime.ts'

/** Errors of a runtime, besides those of its engine. */

/** A failed build, with the log lines that the user needs. */
export class BuildFailed extends Error {
  override readonly name = 'BuildFailed'
  readonly code:
    | 'command_failed'
    | 'out_of_memory'
    | 'too_many_processes'
    | 'disk_full'
    | 'timed_out'
    | 'missing_tool'
    | 'bad_plan'
  readonly logTail: string[]

  constructor(code: BuildFailed['code'], message: string, logTail: string[] = []) {
    super(message)
    this.code = code
    this.logTail = logTail
  }
}

/** The content of a volume cannot be read. The message says what to do. */
export class VolumeUnreadable extends Error {
  override readonly name = 'VolumeUnreadable'
}

/** The instance could not be started. */
export class StartFailed extends Error {
  override readonly name: string = 'StartFailed'
}

/** The volume does not exist on this engine or machine, although it must. */
export class VolumeMissing extends StartFailed {
  override readonly name = 'VolumeMissing'

  constructor(volume: Pick<VolumeRef, 'id' | 'name'>) {
    super(`The volume ${volume.name} (${volume.id}) does not exist`)
  }
}

/** The artifact was built on this engine or machine and no longer exists. It must be rebuilt: no registry has it. */
export class ArtifactMissing extends StartFailed {
  override readonly name = 'ArtifactMissing'
}
