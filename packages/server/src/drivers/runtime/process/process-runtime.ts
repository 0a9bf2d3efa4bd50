import { existsSync, mkdirSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { KeyedMutex } from '../../../platform/keyed-mutex.ts'
import type { ListenerOwner } from '../../../platform/listener/listener-owner.ts'
import { RecentSockets } from '../../../platform/listener/listening-sockets.ts'
import { measureFolder } from '../../folder/measure-folder.ts'
import type { Artifact, Instance, InstanceAddress, InstanceChange, Runtime, StartRequest } from '../runtime.ts'
import { StartFailed } from '../runtime.ts'
import { BuildsUse } from '../storage-use.ts'
import { buildHere, endUnfinishedBuilds } from './build/build.ts'
import { roomAt } from './disk/disk-room.ts'
import { DiskRounds } from './disk/disk-rounds.ts'
import { readArtifactNote } from './files/artifact.ts'
import { Paths } from './files/paths.ts'
import { emptyTrash, removeTree } from './files/remove-tree.ts'
import { healVolume, tarOf, untarInPlaceOf } from './files/volume-archive.ts'
import { Ports } from './ports/ports.ts'
import { type InstanceRecord, InstanceRecords } from './processes/instance-record.ts'
import { endAllWithGroup } from './processes/process-table.ts'
import { usageOf } from './processes/process-use.ts'
import { ProgramsBeside } from './run/exec.ts'
import { Readers, readOutput } from './run/output-reader.ts'
import { programFor } from './run/program.ts'
import { baseEnvironment } from './run/project-environment.ts'
import { Supervised } from './run/supervisor.ts'
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
  /** Disk space for the versions of Node and of package managers that projects ask for. */
  toolsMb?: number
}

const diskCheckMs = 500

/** Runs projects as plain processes, without a container engine. The sandbox isolates them. */
export function createProcessRuntime({
  folder,
  environment,
  otherPortMs = 10_000,
  toolsMb = 4096,
  ...given
}: ProcessRuntimeSettings): Runtime {
  const sandbox = given.sandbox ?? openSandbox({ folder, dataDir: folder, environment })
  const paths = new Paths(folder, sandbox.hasOwnUsers)
  const records = new InstanceRecords(paths)
  const baseEnv = baseEnvironment(environment, sandbox)
  const toolbox = new Toolbox({ paths, sandbox, baseEnv, npmEnv: npmEnvironment(environment) }, toolsMb)
  const making = { paths, sandbox, baseEnv, toolbox }
  const supervised = new Map<string, Supervised>()
  const sockets = new RecentSockets()
  const listeners = new Set<(change: InstanceChange) => void>()
  const notify = (kind: InstanceChange['kind'], reason: string, one: Supervised) => {
    for (const listener of listeners) listener({ kind, reason, instance: show(one, paths) })
  }
  const looked = async (one: Supervised): Promise<Instance> => {
    await one.findPort(sockets.get())
    // The program may have ended during the search.
    await one.settled()
    return show(one, paths)
  }
  const killLeftovers = async (instanceId: string) => {
    if (sandbox.hasOwnUsers) await endAllWithGroup(paths.mark(instanceId))
  }
  const known = records.list()
  const ports = new Ports(known.map(({ port }) => port))
  const parts = { records, sandbox, ports, notify, killLeftovers, noteOf: paths.instanceNote, otherPortMs }
  const readers = new Readers()
  const programs = new ProgramsBeside(making)
  const sweep = () => emptyTrash(paths.of('trash')).catch(() => undefined)
  let cleaned = endUnfinishedBuilds(paths).then(sweep, sweep)
  for (const record of known) {
    const one = new Supervised(record, parts)
    supervised.set(record.instanceId, one)
    one.adoptExisting()
  }

  const rounds = new DiskRounds()
  const watchingDisk = setInterval(() => {
    if (supervised.size > 0)
      roomAt(folder).then(
        (room) => rounds.go([...supervised.values()], room),
        () => undefined,
      )
  }, diskCheckMs).unref()

  const locks = new KeyedMutex()
  const startLocked = async (request: StartRequest, abort: AbortSignal): Promise<Instance> => {
    const known = supervised.get(request.instanceId)
    await known?.settled()
    if (known?.isAlive || known?.isRestarting || known?.isValidated) return looked(known)
    const one = known ?? new Supervised(newRecord(request), parts)
    const program = await programFor(request, making, abort)
    mkdirSync(paths.instance(request.instanceId), { recursive: true, mode: 0o700 })
    supervised.set(request.instanceId, one)
    await one.start(request, program)
    return looked(one)
  }
  const stopLocked = async (instanceId: string, graceSeconds: number): Promise<void> => {
    await supervised.get(instanceId)?.stop(graceSeconds)
    await programs.end(instanceId)
    await readers.done(instanceId)
    supervised.delete(instanceId)
    records.remove(instanceId)
    cleaned = cleaned.then(sweep)
  }

  const inspect = async (instanceId: string) => {
    const one = supervised.get(instanceId)
    return one && looked(one)
  }

  const removeArtifact = async ({ reference, kind }: Artifact) => {
    const target = kind === 'image' ? null : paths.artifactOf(reference)
    if (!target) return
    const note = await readArtifactNote(target)
    // A rollback runs the artifact of another deployment.
    const uses = ({ owner, shown = [] }: InstanceRecord) =>
      owner.deploymentId === note?.deploymentId || shown.some(({ path }) => dirname(path) === target)
    const isUsed = [...supervised.values()].some((one) => one.isAlive && uses(one.record))
    if (!isUsed) await removeTree(target, paths.of('trash'))
  }
  const listArtifacts = async () => {
    const found = paths.list('artifacts').map(async (name) => {
      const folder = join(paths.of('artifacts'), name)
      const note = await readArtifactNote(folder)
      // The current path: the recorded one is outdated if the data folder has moved.
      return note ? [{ ...note, reference: note.kind === 'static' ? join(folder, 'static') : folder }] : []
    })
    return (await Promise.all(found)).flat()
  }

  return {
    kind: 'process',
    // Instances belong to the process tree of `berth up`, which ends as a whole.
    survivesStop: false,
    isolation: { kind: sandbox.kind, message: sandbox.message },
    check: async () => ({ version: process.version }),
    build(request, onLine, abort) {
      paths.make()
      return buildHere(request, onLine, abort, making)
    },

    start(request, abort) {
      paths.make()
      return locks.run(request.instanceId, () => startLocked(request, abort), abort)
    },
    setRestart: async (instanceId, policy) => supervised.get(instanceId)?.setRestart(policy),
    stop: (instanceId, { graceSeconds }) => locks.run(instanceId, () => stopLocked(instanceId, graceSeconds)),
    inspect,
    glance: inspect,
    list: () => Promise.all([...supervised.values()].map(looked)),
    usage: async () => usageOf([...supervised.values()].filter((one) => one.isAlive).map(({ record }) => record)),
    logs: (instanceId, after, abort, { follow } = { follow: true }) =>
      readers.count(
        instanceId,
        readOutput(
          instanceId,
          after,
          {
            records,
            recordOf: () => supervised.get(instanceId)?.record,
            ending: readers.endingOf(instanceId),
            hasEnded: () => {
              const one = supervised.get(instanceId)
              return !follow || !one || one.hasEnded
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
      const use = new BuildsUse()
      for (const { projectId, sizeBytes } of await listArtifacts()) use.add('artifact', projectId, sizeBytes)
      const disk = await statfs(folder).catch(() => null)
      return {
        ...use.show(),
        cacheMaxBytes: null,
        disk: disk && { totalBytes: disk.blocks * disk.bsize, freeBytes: disk.bavail * disk.bsize },
      }
    },
    // Builds have no cache. The tools that they share have their own size limit.
    clearBuildCache: async () => undefined,

    async createVolume({ id, projectId }) {
      paths.make()
      const target = paths.volume(id)
      await healVolume(target)
      paths.own(target, projectId)
    },
    volumeSizeBytes: async (id) => (existsSync(paths.volume(id)) ? (await measureFolder(paths.volume(id))).bytes : null),
    removeVolume: (id) => removeTree(paths.volume(id), paths.of('trash')),
    readVolume: (id, abort) => tarOf(paths.volume(id), { environment, abort }),
    async writeVolume(id, tar, abort) {
      await healVolume(paths.volume(id))
      paths.make()
      const [folder, staging, trash] = [paths.volume(id), paths.staging(id), paths.of('trash')]
      await untarInPlaceOf({ folder, staging, trash }, tar, abort)
    },

    async exec(instanceId, command, abort) {
      const one = supervised.get(instanceId)
      if (!one?.isAlive) throw new StartFailed(`The instance ${instanceId} does not run`)
      return programs.run(one.record, command, abort)
    },
    async close() {
      clearInterval(watchingDisk)
      listeners.clear()
      await toolbox.close()
      await cleaned
    },
  }
}

/** The allowed listener of an instance: its project's user, or else the launched process. */
function ownerOf({ owner, process: launched }: InstanceRecord, paths: Paths): { listener?: ListenerOwner } {
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
  const isOwn = listensAt !== port && launched?.startTime
  const owner = isOwn ? { listener: { pid: launched.pid, startTime: launched.startTime as string } } : ownerOf(record, paths)
  return { host: '127.0.0.1', port: listensAt, ...owner }
}

function show(one: Supervised, paths: Paths): Instance {
  const { record, listensOn } = one
  const state = one.isAlive ? 'running' : one.isRestarting || one.isValidated ? 'restarting' : 'exited'
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
