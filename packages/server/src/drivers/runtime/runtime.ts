import type { ContainerSettings } from '@berth/contract'
import type { ListenerOwner } from '../../platform/listener/listener-owner.ts'
import type { RegistryLogin } from '../registry/registry-login.ts'
import type { HealthProgram } from './health-program.ts'
import type { InstanceEnd } from './instance-end.ts'
import type { RestartPolicy } from './restart-policy.ts'
import type { StorageUse } from './storage-use.ts'

export interface Reading {
  /** Waits for lines to come while the instance runs; so it is unless told otherwise. */
  follow: boolean
}

/**
 * Builds and runs projects. One interface, one suite (`suite.ts`) on every implementation.
 *
 * Everything an implementation makes (image, container, process, network, volume) carries the owner's ids as labels, so
 * that it is found again after the control plane was killed, and so that nothing foreign is ever touched. Every call is
 * safe to repeat with the same ids: `start` of an instance that already runs returns it, `stop` of one that is gone
 * succeeds.
 */
export interface Runtime {
  readonly kind: 'process' | 'docker'
  /** Whether instances go on when the control plane is stopped on purpose; they always do when it is killed. */
  readonly survivesStop: boolean
  /** What keeps projects apart here, as it is at this moment. */
  readonly isolation: Isolation

  /** Rejects with words that say what is missing when projects cannot run here now. */
  check(abort: AbortSignal): Promise<{ version: string }>

  /**
   * Turns a source folder into something that can be started. Lines of output go to `onLine` as they come. A build over its
   * time or memory is ended, whole process tree, and rejects with `BuildFailed` that says so. Values of `secrets` are in the
   * environment of the build's commands, and in no layer, argv, log or file that stays.
   */
  build(request: BuildRequest, onLine: (line: OutputLine) => void, abort: AbortSignal): Promise<Artifact>

  /**
   * Has an image of a registry here for a project. Its registry decides whether the project's organisation may have it, with the
   * login for that host, also where the engine already has it for another organisation. Rejects with `BuildFailed`. Absent where there
   * are no containers.
   */
  fetchImage?(request: ImageRequest, onLine: (line: OutputLine) => void, abort: AbortSignal): Promise<Artifact>

  /** Starts an instance beside whatever else runs. Resolves when it was started, not when it is healthy. Rejects with `ArtifactGone` where what was built is missing. */
  start(request: StartRequest, abort: AbortSignal): Promise<Instance>

  /**
   * Whether an instance that runs is started again when it ends by itself, from now on, with growing pauses. One that is gone, or has ended
   * already, is left as it is.
   */
  setRestart(instanceId: string, policy: RestartPolicy, abort: AbortSignal): Promise<void>

  /** TERM, then KILL after the grace; bounded even when the engine hangs. Its logs have been handed out before it resolves. */
  stop(instanceId: string, options: { graceSeconds: number }, abort: AbortSignal): Promise<void>

  /** Undefined when there is no such instance. */
  inspect(instanceId: string): Promise<Instance | undefined>

  /** As `inspect`, by what was told of it: costs next to nothing while nothing happens, and may be a moment behind. */
  glance(instanceId: string): Promise<Instance | undefined>

  /** Every instance of ours that exists here, running or not. */
  list(): Promise<Instance[]>

  /** What everything that runs has used, in one look at all of it; what cannot be looked at is left out. */
  usage(abort: AbortSignal): Promise<InstanceUsage[]>

  /**
   * Output of an instance, from the first line that `after` has not covered. Ends when the instance has ended and all was
   * read, or on abort; one that does not follow ends with what was written so far. `after` is the `position` of a line handed out before, also by a control plane that died.
   */
  logs(
    instanceId: string,
    after: string | null,
    abort: AbortSignal,
    reading?: Reading,
  ): AsyncIterable<OutputLine & { position: string }>

  /** Called when an instance ended by itself, restarted, moved, or was killed for its memory; also for what happened unseen. */
  onChange(listener: (change: InstanceChange) => void): () => void

  /** Counts lost connections to the engine. A call that saw the number rise may have been cut short. Absent where there is no engine. */
  disconnects?(): number
  /** Called when the engine answers again after a lost connection. */
  onReconnect?(listener: () => void): () => void

  /** Removing what is not there succeeds. Never removes one that an instance uses. */
  removeArtifact(artifact: Artifact, abort: AbortSignal): Promise<void>
  listArtifacts(): Promise<(Artifact & { deploymentId: string; projectId: string })[]>
  /**
   * Removes all that builds and starts of a project have left: its artifacts, except one that an instance uses, its part of every
   * cache, and networks without an instance.
   */
  removeBuilds(projectId: string, abort: AbortSignal): Promise<void>
  /** Disk usage of builds on this engine or machine. Measuring may take a while. */
  storage(abort: AbortSignal): Promise<StorageUse>
  /** Removes what only makes later builds faster. */
  clearBuildCache(abort: AbortSignal): Promise<void>

  /** A volume's identity is the id that is stored, never derived. Making one that exists keeps its bytes. */
  createVolume(volume: VolumeRef): Promise<void>
  volumeSizeBytes(volumeId: string): Promise<number | null>
  removeVolume(volumeId: string): Promise<void>
  /** The volume's content as a tar stream, with owners and modes. */
  readVolume(volumeId: string, abort: AbortSignal): AsyncIterable<Uint8Array>
  /** Replaces the volume's content. Either all of it is the new one afterwards, or the old one is still there. */
  writeVolume(volumeId: string, tar: AsyncIterable<Uint8Array>, abort: AbortSignal): Promise<void>

  /**
   * Containers that somebody else made on the same engine and that a project takes over. Stopping one also keeps the engine from
   * starting it again; `giveBack` makes it what it was. Calls may be repeated, and one that is gone is no failure. Absent where there is no engine.
   */
  foreign?: {
    /** null: it is gone. */
    look(containerId: string, abort: AbortSignal): Promise<ForeignState | null>
    stop(containerId: string, options: { graceSeconds: number }, abort: AbortSignal): Promise<void>
    giveBack(containerId: string, before: ForeignState, abort: AbortSignal): Promise<void>
  }

  /**
   * Runs a program inside a running instance, such as a database's dump tool: with its rights, files, limits and working folder. On
   * abort, or when what takes its output rejects, it is ended with all that it started; when the instance ends, so does it.
   */
  exec(instanceId: string, command: ExecCommand, abort: AbortSignal): Promise<{ exitCode: number; stderrTail: string }>

  /** Stops watching; what runs goes on running. */
  close(): Promise<void>
}

export interface Isolation {
  /** `none`: every project can do what Berth itself can. */
  kind: 'docker' | 'bubblewrap' | 'own-users' | 'none'
  words: string
}

export interface Owner {
  projectId: string
  deploymentId: string
  environment: string
}

export interface Allotment {
  cpuCores: number
  memoryMb: number
  diskMb: number
}

/** How to build: what detection and the project's settings agreed on. */
export interface BuildPlan {
  /** `dockerfile`: the project's own; `static`: only the output folder counts; `none`: nothing to run, the source is the artifact. */
  kind: 'stack' | 'dockerfile' | 'static' | 'none'
  language: string | null
  framework: string | null
  packageManager: string | null
  /** Such as `{ node: '22' }`. */
  runtimeVersion: Record<string, string>
  installCommand: string | null
  buildCommand: string | null
  startCommand: string | null
  /** Relative to the root directory; of a static build. */
  outputDirectory: string | null
  /** Relative to the source folder; '' for the folder itself. */
  rootDirectory: string
  dockerfilePath: string | null
  /** Instead of a Dockerfile of the project; everything of the root directory is there for it. */
  dockerfileText?: string
  dockerTarget: string | null
  buildArguments: Record<string, string>
  /** Base image to use instead of the stack's own. */
  buildImage: string | null
  port: number
}

/** Nothing is known and nothing is asked for: what a plan says is said over this. */
export const emptyPlan: BuildPlan = {
  kind: 'stack',
  language: null,
  framework: null,
  packageManager: null,
  runtimeVersion: {},
  installCommand: null,
  buildCommand: null,
  startCommand: null,
  outputDirectory: null,
  rootDirectory: '',
  dockerfilePath: null,
  dockerTarget: null,
  buildArguments: {},
  buildImage: null,
  port: 0,
}

export interface BuildRequest {
  owner: Owner
  /** Whose turn it takes where builds of several wait for the same; without it the project has turns of its own. */
  organizationId?: string
  /** '' for the project itself; a service's name in a services project. */
  service: string
  sourceFolder: string
  plan: BuildPlan
  /** The project's variables. All of them may be secret. */
  secrets: Record<string, string>
  /** Names of those that are secret; absent: all of them. */
  secretKeys?: readonly string[]
  allotment: Allotment
  timeoutMs: number
  /** For images that the build is made from. */
  registryLogins?: readonly RegistryLogin[]
}

export interface ImageRequest {
  owner: Owner
  /** A name with a tag or a digest. */
  image: string
  /** Pulled again where it is here already; the artifact then names the digest and the ports that the image declares. */
  fresh: boolean
  /** Of the project's organisation. Each is sent to its own host alone. */
  registryLogins?: readonly RegistryLogin[]
}

/** What a build made. Kept in the database as it is, and good after a restart of everything. */
export interface Artifact {
  kind: 'image' | 'folder' | 'static'
  /** An image's id or name, or a folder. */
  reference: string
  sizeBytes: number
  /** The command that starts it, where the plan said; an image may have its own. */
  startCommand: string | null
  /** The same for two builds that made the same, where the runtime can tell. */
  content?: string
  /** TCP ports that a pulled image declares, the lowest first. */
  exposedPorts?: number[]
}

export interface VolumeRef {
  id: string
  projectId: string
  name: string
  /** Bytes that were there before us and stay where they are: mounted by their own name, never removed by us. */
  adopted?: AdoptedVolume | undefined
}

/** What of a container is changed when it makes way. */
export interface ForeignState {
  isRunning: boolean
  restart: { name: string; retries: number }
}

/** A volume of the engine, or a file or folder of its machine. */
export type AdoptedVolume = { volume: string } | { path: string }

export interface StartRequest {
  /** Unique for ever; chosen and stored by the caller before the call. */
  instanceId: string
  owner: Owner
  service: string
  /** An artifact of `build`, or an image by name (a service of a Compose project). */
  artifact: Artifact
  /** Instead of the artifact's own. */
  command: string[] | null
  entrypoint: string[] | null
  /** Byte-exact. `PORT` and `BERTH_VOLUME_<NAME>` are added by the runtime. */
  env: Record<string, string>
  /** Where it listens, inside. null: it listens nowhere (a worker). */
  port: number | null
  volumes: { id: string; name: string; mountPath: string; readOnly: boolean }[]
  /** Null: the instance stands alone and reaches no other by name. */
  network: NetworkRequest | null
  allotment: Allotment
  /** Restarted with growing pauses when it ends by itself, from its start on; false: until `setRestart` says so. */
  restart: boolean
  /** For tools that look at the engine; those of this product are left out. */
  labels?: Record<string, string>
  /** How the container is set up, beyond what its image says; a runtime without containers has no use for it. */
  container?: ContainerSettings
  /** Files that the instance finds inside when it starts, over those of its image. */
  files?: InlineFile[]
  /** Instead of the health check that the image declares; null turns that one off. */
  healthProgram?: HealthProgram | null
  /** For an image by name that is not here any more. */
  registryLogins?: readonly RegistryLogin[]
}

/**
 * The services of one network reach each other by name. `also` names networks of others that shall reach it by the same
 * names. Starting one that already runs lets it join the networks that are named. `services` is how many are made on it,
 * which is what it is given addresses for.
 */
export interface NetworkRequest {
  /** Unguessable, and one project's own. */
  name: string
  aliases: string[]
  also?: string[]
  services?: number
  /** Several networks under that name, instead of one: the instance joins these. None: it has no network at all. */
  parts?: NetworkPart[]
}

export interface NetworkPart {
  name: string
  /** Nothing outside of it is reached from there. */
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
   * Where the control plane and the edge reach it: always loopback or a private address of this machine. Only while it is
   * there: after a restart, also of the control plane, it is asked for anew.
   */
  address: InstanceAddress | null
  /** What its own processes listen on, as far as that was looked for; absent where nobody can tell. */
  listensOn?: readonly string[]
  /** It wants this port, whatever PORT says, and somebody else has it. */
  portTaken?: number
  startedAt: string | null
  exitCode: number | null
  /** Killed because it used more memory than it may. */
  outOfMemory: boolean
  /** It was ended because it kept more on the disk than it may. */
  diskFull?: boolean
  restarts: number
  /** Command it was started with, where an image may say that; absent: not known. */
  program?: string
  /** Its last end by itself; absent: there was none. */
  lastEnd?: InstanceEnd
  /** It runs and is not on its Docker network any more: nothing reaches it until it is started again. */
  networkLost?: boolean
  /** Volumes that are not at their mount path, with the variable that holds their folder; absent: all are. */
  volumesNotMounted?: readonly { mountPath: string; variable: string }[]
  /** Its first process is root, and the engine does not map that to another user of the machine. */
  runsAsRoot?: boolean
  /** The health check that its image or its request declares; absent where there is none, or no engine that runs it. */
  health?: { program: HealthProgram; status: 'starting' | 'healthy' | 'unhealthy'; output: string }
}

export interface InstanceUsage {
  instanceId: string
  owner: Owner
  startedAt: string | null
  /** Processor time; begins anew only where its program was started again. */
  cpuSeconds: number
  memoryBytes: number
}

export interface InstanceAddress {
  host: string
  port: number
  /** Nothing is said there to anybody else. */
  listener?: ListenerOwner
}

export interface InstanceChange {
  instance: Instance
  /**
   * The first three are ends, and `instance.lastEnd` is that end. `moved`: it runs again after a restart, at another address.
   * `health`: its declared health check changed its verdict. `network`: its Docker network was removed.
   */
  kind: 'exited' | 'restarted' | 'crash_loop' | 'moved' | 'health' | 'network'
  /** In words: exit code or signal, memory, last lines. */
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
  /** A promise is waited for before more is read. */
  onStdout?: (chunk: Uint8Array) => void | Promise<void>
  onStderr?: (chunk: Uint8Array) => void | Promise<void>
}

/** A build that did not work, with what the user needs to see. */
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

/** What is in a volume cannot be read; the words say what to do. */
export class VolumeUnreadable extends Error {
  override readonly name = 'VolumeUnreadable'
}

/** An instance that could not be started. */
export class StartFailed extends Error {
  override readonly name: string = 'StartFailed'
}

/** The artifact was built here and does not exist any more: it has to be built again. It is never asked for anywhere else. */
export class ArtifactGone extends StartFailed {
  override readonly name = 'ArtifactGone'
}
