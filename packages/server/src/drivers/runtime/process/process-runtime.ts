import { existsSync, mkdirSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { KeyedMutex } from '../../../platform/keyed-mutex.ts'
import type { ListenerOwner } from '../../../platform/listener/listener-owner.ts'
import { RecentSockets } from '../../../platform/listener/listening-sockets.ts'
import { measureFolder } from '../../folder/measure-folder.ts'
import type { Artifact, Instance, InstanceAddress, InstanceChange, Runtime, StartRequest } from '../runtime.ts'
import { StartFailed, VolumeMissing } from '../runtime-errors.ts'
import { StorageUsageSum } from '../storage-use.ts'
import { buildArtifact, endUnfinishedBuilds } from './build/build.ts'
import { DiskRounds } from './disk/disk-rounds.ts'
import { freeSpaceAt } from './disk/free-space.ts'
import { readArtifactRecord } from './files/artifact.ts'
import { Paths } from './files/paths.ts'
import { emptyTrash, removeTree } from './files/remove-tree.ts'
import { packVolume, replaceVolumeContent, restoreInterruptedSwap } from './files/volume-archive.ts'
import { Ports } from './ports/ports.ts'
import { type InstanceRecord, InstanceRecords } from './processes/instance-record.ts'
import { killAllWithGroupId } from './processes/process-table.ts'
import { usageOf } from './processes/process-use.ts'
import { ExecCommands } from './run/exec.ts'
import { Readers, readOutput } from './run/output-reader.ts'
import { programFor } from './run/program.ts'
import { baseEnvironment } from './run/project-environment.ts'
import { InstanceSupervisor } from './run/supervisor.ts'
import { copyCertificates } from './sandbox/certificates.ts'
import { openSandbox } from './sandbox/open-sandbox.ts'
import type { Sandbox } from './sandbox/sandbox.ts'
import { npmEnvironment, Toolbox } from './tools/toolbox.ts'

export interface ProcessRuntimeSettings {
  folder: string
  /** Environment of the control plane. Projects get only the variables that every program needs. */
  environment: Readonly<Record<string, string | undefined>>
  /** Absent: the strongest isolation that works here. */
  sandbox?: Sandbox
  /** How long a program must listen on a port that neither PORT nor its source names before that counts as its port. */
  otherPortMs?: number
  /** Disk space for the versions of Node and of package managers that projects require. */
  toolsMb?: number
}

const diskCheckMs = 500

/** Runs projects as plain processes, without a container engine. The sandbox isolates them. */
export function createProcessRuntime({
  folder,
  environment,
  otherPortMs = 10_000,
  toolsMb = 4096,
  ...settings
}: ProcessRuntimeSettings): Runtime {
  const sandbox = settings.sandbox ?? openSandbox({ folder, dataDir: folder, environment })
  const paths = new Paths(folder, sandbox.hasOwnUsers)
  const records = new InstanceRecords(paths)
  const certificates = Object.fromEntries(
    Object.entries(copyCertificates(environment, folder)).map(([name, path]) => [name, sandbox.pathInside(path)]),
  )
  const baseEnv = { ...baseEnvironment(environment, sandbox), ...certificates }
  const toolbox = new Toolbox({ paths, sandbox, baseEnv, npmEnv: { ...npmEnvironment(environment), ...certificates } }, toolsMb)
  const buildParts = { paths, sandbox, baseEnv, toolbox }
  const supervisors = new Map<string, InstanceSupervisor>()
  const sockets = new RecentSockets()
  const listeners = new Set<(change: InstanceChange) => void>()
  const notify = (kind: InstanceChange['kind'], reason: string, supervisor: InstanceSupervisor) => {
    for (const listener of listeners) listener({ kind, reason, instance: toInstance(supervisor, paths) })
  }
  const inspectSupervised = async (supervisor: InstanceSupervisor): Promise<Instance> => {
    await supervisor.findPort(sockets.get())
    // The program may have ended during the search.
    await supervisor.waitForExit()
    return toInstance(supervisor, paths)
  }
  const killLeftovers = async (instanceId: string) => {
    if (sandbox.hasOwnUsers) await killAllWithGroupId(paths.groupIdOf(instanceId))
  }
  const savedRecords = records.list()
  const ports = new Ports(savedRecords.map(({ port }) => port))
  const parts = { records, sandbox, ports, notify, killLeftovers, processFileOf: paths.instanceProcessFile, otherPortMs }
  const readers = new Readers()
  const execCommands = new ExecCommands(buildParts)
  const cleanTrash = () => emptyTrash(paths.of('trash')).catch(() => undefined)
  let cleaning = endUnfinishedBuilds(paths).then(cleanTrash, cleanTrash)
  for (const record of savedRecords) {
    const supervisor = new InstanceSupervisor(record, parts)
    supervisors.set(record.instanceId, supervisor)
    supervisor.adoptExisting()
  }

  const rounds = new DiskRounds()
  const diskTimer = setInterval(() => {
    if (supervisors.size > 0)
      freeSpaceAt(folder).then(
        (freeSpace) => rounds.measureDue([...supervisors.values()], freeSpace),
        () => undefined,
      )
  }, diskCheckMs).unref()

  const locks = new KeyedMutex()
  const startLocked = async (request: StartRequest, abort: AbortSignal): Promise<Instance> => {
    const existing = supervisors.get(request.instanceId)
    await existing?.waitForExit()
    if (existing?.isAlive || existing?.isRestarting || existing?.isDecidingPort) return inspectSupervised(existing)
    const supervisor = existing ?? new InstanceSupervisor(newRecord(request), parts)
    for (const volume of request.volumes) if (!existsSync(paths.volume(volume.id))) throw new VolumeMissing(volume)
    const program = await programFor(request, buildParts, abort)
    mkdirSync(paths.instance(request.instanceId), { recursive: true, mode: 0o700 })
    supervisors.set(request.instanceId, supervisor)
    await supervisor.start(request, program)
    return inspectSupervised(supervisor)
  }
  const stopLocked = async (instanceId: string, graceSeconds: number): Promise<void> => {
    await supervisors.get(instanceId)?.stop(graceSeconds)
    await execCommands.end(instanceId)
    await readers.finish(instanceId)
    supervisors.delete(instanceId)
    records.remove(instanceId)
    cleaning = cleaning.then(cleanTrash)
  }

  const inspect = async (instanceId: string) => {
    const supervisor = supervisors.get(instanceId)
    return supervisor && inspectSupervised(supervisor)
  }

  const removeArtifact = async ({ reference, kind }: Artifact) => {
    const target = kind === 'image' ? null : paths.artifactOf(reference)
    if (!target) return
    const record = await readArtifactRecord(target)
    // A rollback runs the artifact of another deployment.
    const usesArtifact = ({ owner, shown = [] }: InstanceRecord) =>
      owner.deploymentId === record?.deploymentId || shown.some(({ path }) => dirname(path) === target)
    const isUsed = [...supervisors.values()].some((supervisor) => supervisor.isAlive && usesArtifact(supervisor.record))
    if (!isUsed) await removeTree(target, paths.of('trash'))
  }
  const listArtifacts = async () => {
    const found = paths.list('artifacts').map(async (name) => {
      const folder = join(paths.of('artifacts'), name)
      const record = await readArtifactRecord(folder)
      // The current path: the recorded one is outdated if the data folder has moved.
      return record ? [{ ...record, reference: record.kind === 'static' ? join(folder, 'static') : folder }] : []
    })
    return (await Promise.all(found)).flat()
  }

  return {
    kind: 'process',
    isolation: { kind: sandbox.kind, message: sandbox.message },
    check: async () => ({ version: process.version }),
    build(request, onLine, abort) {
      paths.createFolders()
      return buildArtifact(request, onLine, abort, buildParts)
    },

    start(request, abort) {
      paths.createFolders()
      return locks.run(request.instanceId, () => startLocked(request, abort), abort)
    },
    setRestart: async (instanceId, policy) => supervisors.get(instanceId)?.setRestart(policy),
    stop: (instanceId, { graceSeconds }) => locks.run(instanceId, () => stopLocked(instanceId, graceSeconds)),
    inspect,
    inspectCached: inspect,
    list: () => Promise.all([...supervisors.values()].map(inspectSupervised)),
    usage: async () => usageOf([...supervisors.values()].filter((supervisor) => supervisor.isAlive).map(({ record }) => record)),
    logs: (instanceId, after, abort, { follow } = { follow: true }) =>
      readers.track(
        instanceId,
        readOutput(
          instanceId,
          after,
          {
            records,
            recordOf: () => supervisors.get(instanceId)?.record,
            stopped: readers.stopSignalOf(instanceId),
            hasEnded: () => {
              const supervisor = supervisors.get(instanceId)
              return !follow || !supervisor || supervisor.hasEnded
            },
          },
          abort,
        ),
      ),
    onChange(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },

    removeArtifact,
    listArtifacts,
    async removeBuilds(projectId) {
      for (const artifact of await listArtifacts()) if (artifact.projectId === projectId) await removeArtifact(artifact)
    },
    async storage() {
      const usage = new StorageUsageSum()
      for (const { projectId, sizeBytes } of await listArtifacts()) usage.add('artifact', projectId, sizeBytes)
      const disk = await statfs(folder).catch(() => null)
      return {
        ...usage.result(),
        cacheMaxBytes: null,
        disk: disk && { totalBytes: disk.blocks * disk.bsize, freeBytes: disk.bavail * disk.bsize },
      }
    },
    // Builds have no cache. The tools that they share have their own size limit.
    clearBuildCache: async () => undefined,

    async createVolume({ id, projectId, name, mustExist = false }) {
      paths.createFolders()
      const target = paths.volume(id)
      await restoreInterruptedSwap(target)
      if (mustExist && !existsSync(target)) throw new VolumeMissing({ id, name })
      paths.createOwned(target, projectId)
    },
    volumeSizeBytes: async (id) => (existsSync(paths.volume(id)) ? (await measureFolder(paths.volume(id))).bytes : null),
    removeVolume: (id) => removeTree(paths.volume(id), paths.of('trash')),
    readVolume: (id, abort) => packVolume(paths.volume(id), { environment, abort }),
    async writeVolume(id, tar, abort) {
      await restoreInterruptedSwap(paths.volume(id))
      paths.createFolders()
      const [folder, staging, trash] = [paths.volume(id), paths.staging(id), paths.of('trash')]
      await replaceVolumeContent({ folder, staging, trash }, tar, abort)
    },

    async exec(instanceId, command, abort) {
      const supervisor = supervisors.get(instanceId)
      if (!supervisor?.isAlive) throw new StartFailed(`The instance ${instanceId} is not running`)
      return execCommands.run(supervisor.record, command, abort)
    },
    async close() {
      clearInterval(diskTimer)
      listeners.clear()
      await toolbox.close()
      await cleaning
    },
  }
}

/** The allowed listener of an instance: its project's user, or else the launched process. */
function listenerOf({ owner, process: launched }: InstanceRecord, paths: Paths): { listener?: ListenerOwner } {
  const uid = paths.userOf(owner.projectId)
  if (process.platform !== 'linux') return {}
  if (uid !== null) return { listener: { uid } }
  return launched?.startTime ? { listener: { pid: launched.pid, startTime: launched.startTime } } : {}
}

/**
 * Address of an instance, with the allowed listener. No other instance had the port that Berth assigned, so any process of
 * the project's user may listen there. On a port that the program chose itself another version of the project may listen a
 * moment later, so only the launched process is accepted.
 */
function addressOf(record: InstanceRecord, paths: Paths): InstanceAddress | null {
  const { port, listensAt = port, process: launched } = record
  if (port === null || listensAt === null) return null
  const choseOwnPort = listensAt !== port && launched?.startTime
  const listener = choseOwnPort
    ? { listener: { pid: launched.pid, startTime: launched.startTime as string } }
    : listenerOf(record, paths)
  return { host: '127.0.0.1', port: listensAt, ...listener }
}

function toInstance(supervisor: InstanceSupervisor, paths: Paths): Instance {
  const { record, listensOn } = supervisor
  const state = supervisor.isAlive ? 'running' : supervisor.isRestarting || supervisor.isDecidingPort ? 'restarting' : 'exited'
  return {
    instanceId: record.instanceId,
    owner: record.owner,
    service: record.service,
    state,
    // An instance that does not run has no address: another program may have bound its port.
    address: state === 'running' ? addressOf(record, paths) : null,
    ...(record.port === null ? {} : { listensOn }),
    ...(record.portTaken ? { portTaken: record.portTaken } : {}),
    startedAt: record.startedAt,
    exitCode: record.exitCode,
    outOfMemory: record.outOfMemory,
    ...(record.diskFull ? { diskFull: true } : {}),
    restarts: record.restarts,
    ...(record.lastEnd ? { lastEnd: record.lastEnd } : {}),
    ...notMounted(record),
  }
}

function notMounted({ shown = [] }: InstanceRecord): Pick<Instance, 'volumesNotMounted'> {
  const volumesNotMounted = shown.flatMap(({ mountPath, at, variable }) =>
    mountPath && variable && mountPath !== at ? [{ mountPath, variable }] : [],
  )
  return volumesNotMounted.length > 0 ? { volumesNotMounted } : {}
}

const newRecord = ({ instanceId, owner, service }: StartRequest): InstanceRecord => ({
  instanceId,
  owner,
  service,
  port: null,
  process: null,
  startedAt: null,
  restarts: 0,
  exitCode: null,
  outOfMemory: false,
  cutOff: { stdout: 0, stderr: 0 },
})
