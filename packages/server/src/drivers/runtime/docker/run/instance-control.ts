import type { ExecCommand, Instance, Runtime, StartRequest } from '../../runtime.ts'
import type { InstanceParts } from './instances.ts'

/** Runs instances on an engine: as containers, or as services of a swarm. Builds, images and volumes are the same for both. */
export interface InstanceControl {
  start(request: StartRequest, abort: AbortSignal): Promise<Instance>
  setRestart: Runtime['setRestart']
  /** Ends the program, calls `whenEnded` while its output can still be read, and removes the instance. */
  stop(instanceId: string, graceSeconds: number, abort: AbortSignal, whenEnded: () => Promise<void>): Promise<void>
  inspect(instanceId: string): Promise<Instance | undefined>
  list(): Promise<Instance[]>
  /** Names or ids of the instance's containers, oldest first. */
  containers(instanceId: string): Promise<string[]>
  exec(instanceId: string, command: ExecCommand, abort: AbortSignal): ReturnType<Runtime['exec']>
}

export type OpenControl = (parts: InstanceParts) => InstanceControl
