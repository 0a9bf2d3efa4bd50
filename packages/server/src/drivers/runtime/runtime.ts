import type { ContainerSettings } from '@berth/contract'
import type { ListenerOwner } from '../../platform/listener/listener-owner.ts'
import type { RegistryLogin } from '../registry/registry-login.ts'
import type { BuildPlan } from './build-plan.ts'
import type { HealthProgram } from './health-program.ts'
import type { InstanceEnd } from './instance-end.ts'
import type { RestartPolicy } from './restart-policy.ts'
import type { StorageUsage } from './storage-use.ts'

export interface LogOptions {
  /** Waits for new lines while the instance runs. Default: true. */
  follow: boolean
}

/**
 * Builds and runs projects. Every implementation passes the same test suite (`suite.ts`).
 *
 * Every resource that an implementation creates (image, container, process, network, volume) carries its owner's ids as
 * labels. The control plane finds it again after a crash, and never touches resources of others. Every call is idempotent
 * for the same ids: `start` of a running instance returns that instance, `stop` of a removed instance succeeds.
 * Instances keep running when the control plane ends.
 */
export interface Runtime {
  readonly kind: 'process' | 'docker'
  /** The mechanism that currently isolates projects from each other. */
  readonly isolation: Isolation
  /** Why projects of several services, and links between projects, cannot run here: a predicate. Absent: they can. */
  readonly refusesServices?: string

  /** Rejects if projects cannot run here now. The message says what is missing. */
  check(abort: AbortSignal): Promise<{ version: string }>

  /**
   * Turns a source folder into an artifact that can be started. Passes lines of output to `onLine` as they are written. A
   * build that exceeds its time or memory is killed with its whole process tree and rejects with `BuildFailed`. The values of
   * `secrets` are in the environment of the build commands, and in no layer, argv, log or file that outlives the build.
   */
  build(request: BuildRequest, onLine: (line: OutputLine) => void, abort: AbortSignal): Promise<Artifact>

  /**
   * Pulls an image from a registry for a project, with the login for that host. The registry authorizes the project's
   * organisation even if the engine already has the image for another organisation. Rejects with `BuildFailed`. Absent
   * where there are no containers.
   */
  fetchImage?(request: ImageRequest, onLine: (line: OutputLine) => void, abort: AbortSignal): Promise<Artifact>

  /**
   * Starts an instance beside the running ones. Resolves when it has started, before it is healthy. Rejects with
   * `ArtifactMissing` if the artifact does not exist, and with `VolumeMissing` if a volume does not: it is never created here.
   */
  start(request: StartRequest, abort: AbortSignal): Promise<Instance>

  /**
   * Sets the restart policy of a running instance. Restarts have growing pauses. Does nothing if the instance has ended or
   * was removed.
   */
  setRestart(instanceId: string, policy: RestartPolicy, abort: AbortSignal): Promise<void>

  /**
   * Joins a running instance to the network of a link, which is created if it does not exist. Does nothing if the instance was
   * removed. Absent where there are no networks.
   */
  joinLink?(instanceId: string, link: LinkNetwork, abort: AbortSignal): Promise<void>

  /** Disconnects every instance from the network of a link, and removes it. Succeeds if it does not exist. */
  removeLink?(name: string, abort: AbortSignal): Promise<void>

  /**
   * Sends SIGTERM, then SIGKILL after the grace period. Ends in bounded time even if the engine does not respond. Readers of
   * its logs have every line before it resolves.
   */
  stop(instanceId: string, options: { graceSeconds: number }, abort: AbortSignal): Promise<void>

  /** Reads the state of an instance. Undefined if it does not exist. */
  inspect(instanceId: string): Promise<Instance | undefined>

  /** Same as `inspect`, from the last events: almost free, but may lag slightly. */
  inspectCached(instanceId: string): Promise<Instance | undefined>

  /** Every instance of this control plane here, running or not. */
  list(): Promise<Instance[]>

  /** Resource usage of all running instances, measured together. Leaves out instances that cannot be measured. */
  usage(abort: AbortSignal): Promise<InstanceUsage[]>

  /**
   * Streams the output of an instance from the first line after `after`, which is the `position` of an earlier line, also
   * from before a restart of the control plane. Ends when the instance has ended and every line was read, or on abort.
   * Without `follow` it ends with the last line written so far.
   */
  logs(
    instanceId: string,
    after: string | null,
    abort: AbortSignal,
    options?: LogOptions,
  ): AsyncIterable<OutputLine & { position: string }>

  /**
   * Calls the listener when an instance ended by itself, was restarted, got another address, or was killed for its memory.
   * Also reports changes that happened while the control plane was not running.
   */
  onChange(listener: (change: InstanceChange) => void): () => void

  /** Counts lost connections to the engine. A rise during a call means that the call may be incomplete. Absent without an engine. */
  disconnects?(): number
  /** Calls the listener when the engine responds again after a lost connection. */
  onReconnect?(listener: () => void): () => void

  /** Removes an artifact unless an instance uses it. Succeeds if it does not exist. */
  removeArtifact(artifact: Artifact, abort: AbortSignal): Promise<void>
  listArtifacts(): Promise<(Artifact & { deploymentId: string; projectId: string })[]>
  /**
   * Removes everything that builds and starts of a project left: artifacts that no instance uses, its entries in every
   * cache, and networks without an instance.
   */
  removeBuilds(projectId: string, abort: AbortSignal): Promise<void>
  /** Disk usage of builds on this engine or machine. The measurement can be slow. */
  storage(abort: AbortSignal): Promise<StorageUsage>
  /** Removes the build cache. Later builds are slower, but have the same result. */
  clearBuildCache(abort: AbortSignal): Promise<void>

  /**
   * Creates a volume under its stored id. An existing volume keeps its data. With `mustExist` it creates nothing, and rejects with
   * `VolumeMissing` if the volume does not exist.
   */
  createVolume(volume: VolumeRef & { mustExist?: boolean }): Promise<void>
  volumeSizeBytes(volumeId: string): Promise<number | null>
  removeVolume(volumeId: string): Promise<void>
  /** Content of the volume as a tar stream, with owners and modes. */
  readVolume(volumeId: string, abort: AbortSignal): AsyncIterable<Uint8Array>
  /** Replaces the content of the volume atomically: after a failure the old content is still there. */
  writeVolume(volumeId: string, tar: AsyncIterable<Uint8Array>, abort: AbortSignal): Promise<void>

  /**
   * Existing containers on the same engine that this control plane did not create and that a project takes over. `stop` also
   * disables the container's restart policy; `rollbackTakeover` restores its state. Every call is idempotent and accepts a removed
   * container. Absent without an engine.
   */
  foreign?: {
    /** Reads the container's state. Null if it was removed. */
    inspect(containerId: string, abort: AbortSignal): Promise<ForeignState | null>
    stop(containerId: string, options: { graceSeconds: number }, abort: AbortSignal): Promise<void>
    rollbackTakeover(containerId: string, before: ForeignState, abort: AbortSignal): Promise<void>
  }

  /**
   * Runs a command inside a running instance, such as a database's dump tool, with the instance's user, files, limits and
   * working directory. The command and its child processes are killed on abort, when `onStdout` or `onStderr` rejects, and
   * when the instance ends.
   */
  exec(instanceId: string, command: ExecCommand, abort: AbortSignal): Promise<{ exitCode: number; stderrTail: string }>

  /** Stops watching. Instances keep running. */
  close(): Promise<void>
}

export interface Isolation {
  /** `none`: a project has all permissions of Berth itself. */
  kind: 'docker' | 'bubblewrap' | 'own-users' | 'none'
  message: string
}

export interface Owner {
  projectId: string
  deploymentId: string
  environment: string
}

export interface ResourceLimits {
  cpuCores: number
  memoryMb: number
  diskMb: number
}

export interface BuildRequest {
  owner: Owner
  /** Organisation under which the build waits in queues shared by organisations. Absent: the project has its own queue. */
  organizationId?: string
  /** '' for the project itself; a service's name in a project of type `services`. */
  service: string
  sourceFolder: string
  plan: BuildPlan
  /** The project's variables, secret or not. */
  secrets: Record<string, string>
  /** Keys of the secret variables. Absent: all of them are secret. */
  secretKeys?: readonly string[]
  resources: ResourceLimits
  timeoutMs: number
  /** Credentials for pulling base images. */
  registryLogins?: readonly RegistryLogin[]
}

export interface ImageRequest {
  owner: Owner
  /** A name with a tag or a digest. */
  image: string
  /** Pulls even if the image exists locally. The artifact then has the digest and the ports that the image declares. */
  alwaysPull: boolean
  /** Credentials of the project's organisation. Each is sent only to its own host. */
  registryLogins?: readonly RegistryLogin[]
}

/** The result of a build. Stored in the database as is, and valid after a restart of the control plane and the engine. */
export interface Artifact {
  kind: 'image' | 'folder' | 'static'
  /** Image id or name, or the path of a folder. */
  reference: string
  sizeBytes: number
  /** Start command of the plan, if any. An image may declare its own. */
  startCommand: string | null
  /** Content hash: equal for two builds with the same result. Absent where the runtime cannot compute it. */
  content?: string
  /** TCP ports that a pulled image declares, in ascending order. */
  exposedPorts?: number[]
}

export interface VolumeRef {
  id: string
  projectId: string
  name: string
  /** Existing data that stays in place: mounted under its own name, and never removed by Berth. */
  adopted?: AdoptedVolume | undefined
}

/** State of a foreign container that a takeover changes. */
export interface ForeignState {
  isRunning: boolean
  restart: { name: string; retries: number }
}

/** A Docker volume, or a file or folder on the engine's machine. */
export type AdoptedVolume = { volume: string } | { path: string }

export interface StartRequest {
  /** Globally unique. The caller chooses and stores it before the call. */
  instanceId: string
  owner: Owner
  service: string
  /** An artifact of `build`, or an image name (a service of a Compose project). */
  artifact: Artifact
  /** Overrides the artifact's command. */
  command: string[] | null
  entrypoint: string[] | null
  /** Environment, passed byte for byte. The runtime adds `PORT` and `BERTH_VOLUME_<NAME>`. */
  env: Record<string, string>
  /** Port that the program listens on inside the instance. Null for a worker that listens on none. */
  port: number | null
  volumes: { id: string; name: string; mountPath: string; readOnly: boolean }[]
  /** Null: the instance can reach no other instance by name. */
  network: NetworkRequest | null
  /** Networks of links to other projects. Absent: none. */
  links?: LinkNetwork[]
  resources: ResourceLimits
  /** Restarts the instance, with growing pauses, whenever it ends by itself. False: not before `setRestart`. */
  restart: boolean
  /** Labels for other tools that read the engine. Labels reserved by Berth are ignored. */
  labels?: Record<string, string>
  /** Container settings beyond those of the image. Ignored by a runtime without containers. */
  container?: ContainerSettings
  /** Files placed in the instance before it starts, over those of its image. */
  files?: InlineFile[]
  /** Overrides the health check that the image declares. Null disables it. */
  healthProgram?: HealthProgram | null
  /** Credentials for pulling an image again that was removed locally. */
  registryLogins?: readonly RegistryLogin[]
}

/**
 * Services on one network reach each other by name. `also` lists further networks whose services reach the instance by the
 * same names. `start` of a running instance joins it to the listed networks. `services` is the number of instances that
 * the network is sized for.
 */
export interface NetworkRequest {
  /** Unguessable, and used by a single project. */
  name: string
  aliases: string[]
  also?: string[]
  services?: number
  /** Joins the instance to these networks instead of the single one. An empty list means no network at all. */
  parts?: NetworkPart[]
}

/** A private network without a route to the outside, between instances of two projects. */
export interface LinkNetwork {
  /** Unguessable, and used by a single link. */
  name: string
  /** Host names of the instance on it. */
  aliases: string[]
  /** Number of instances to size it for. Absent: unknown. */
  containers?: number
}

export interface NetworkPart {
  name: string
  /** Docker's internal network: no route to the outside. */
  internal: boolean
  aliases: string[]
  services: number
}

/** A file whose content is part of the request, such as a secret. */
export interface InlineFile {
  path: string
  content: string
  mode: number
  uid: number
  gid: number
}

export interface Instance {
  instanceId: string
  owner: Owner
  service: string
  state: 'starting' | 'running' | 'restarting' | 'exited'
  /**
   * Address for the control plane and the edge: always loopback or a private address of this machine. Valid only while the
   * instance runs: read it again after a restart of the instance or of the control plane.
   */
  address: InstanceAddress | null
  /** Addresses that the instance's processes listen on, as last checked. Absent where the runtime cannot determine them. */
  listensOn?: readonly string[]
  /** Port that the program listens on regardless of PORT, and that another process uses. */
  portTaken?: number
  startedAt: string | null
  exitCode: number | null
  /** The kernel killed it for exceeding its memory limit. */
  outOfMemory: boolean
  /** The runtime ended it for exceeding its disk limit. */
  diskFull?: boolean
  restarts: number
  /** Command that the container was started with, including the image's own. Absent: unknown. */
  program?: string
  /** The most recent end that the runtime did not request. Absent: none. */
  lastEnd?: InstanceEnd
  /** The instance runs but is detached from its Docker network. It is unreachable until it is restarted. */
  networkLost?: boolean
  /** Volumes that could not be mounted at their path, with the variable that holds their folder. Absent: all are mounted. */
  volumesNotMounted?: readonly { mountPath: string; variable: string }[]
  /** The main process runs as root, and the engine does not remap root to another user of the machine. */
  runsAsRoot?: boolean
  /** Health check declared by the image or the request. Absent if there is none, or no engine to run it. */
  health?: { program: HealthProgram; status: 'starting' | 'healthy' | 'unhealthy'; output: string }
}

export interface InstanceUsage {
  instanceId: string
  owner: Owner
  startedAt: string | null
  /** CPU time. Restarts at 0 only when the program was restarted. */
  cpuSeconds: number
  memoryBytes: number
}

export interface InstanceAddress {
  host: string
  port: number
  /** Process that must own the listening socket. Clients send nothing to another process at this address. */
  listener?: ListenerOwner
}

export interface InstanceChange {
  instance: Instance
  /**
   * `exited`, `restarted` and `crash_loop` are ends, with the end in `instance.lastEnd`. `moved`: it runs again after a
   * restart, at another address. `health`: its declared health check changed its status. `network`: its Docker network was
   * removed.
   */
  kind: 'exited' | 'restarted' | 'crash_loop' | 'moved' | 'health' | 'network'
  /** Text for the user: exit code or signal, memory, last lines. */
  reason: string
}

export interface OutputLine {
  time: string
  stream: 'stdout' | 'stderr'
  message: string
}

export interface ExecCommand {
  argv: string[]
  env?: Record<string, string>
  user?: string
  stdin?: AsyncIterable<Uint8Array>
  /** If it returns a promise, reading pauses until that resolves. */
  onStdout?: (chunk: Uint8Array) => void | Promise<void>
  onStderr?: (chunk: Uint8Array) => void | Promise<void>
}
