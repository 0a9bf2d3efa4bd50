import { chownSync, existsSync, mkdirSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { OneAtATime } from '../../../one-at-a-time.ts'
import type { ListenerOwner } from '../../listener/listener-owner.ts'
import { inheritedEnvironment } from '../../shell/inherited-environment.ts'
import { createRunCommand } from '../../shell/run-command.ts'
import type { Instance, InstanceChange, Runtime, StartRequest } from '../runtime.ts'
import { StartFailed } from '../runtime.ts'
import { buildHere, endUnfinishedBuilds, readArtifactNote, searchPath } from './build.ts'
import { execIn } from './exec.ts'
import { type InstanceRecord, InstanceRecords } from './instance-record.ts'
import { createLauncher, wordsOf } from './launch.ts'
import { Readers, readOutput } from './output-reader.ts'
import { folderSizeBytes, Places } from './places.ts'
import { Ports } from './ports.ts'
import { type Program, Supervised } from './supervisor.ts'
import { healVolume, tarOf, untarInPlaceOf } from './volume-archive.ts'

export interface ProcessRuntimeSettings {
  folder: string
  /** The control plane's own; only what every program needs is handed on. */
  environment: Readonly<Record<string, string | undefined>>
}

/** Runs projects as plain processes: no container engine is needed. As root, each project has a user of its own. */
export function createProcessRuntime({ folder, environment }: ProcessRuntimeSettings): Runtime {
  const places = new Places(folder, process.getuid?.() === 0)
  const records = new InstanceRecords(places)
  const launcher = createLauncher(join(folder, 'bin'))
  const baseEnv = inheritedEnvironment(environment)
  const run = createRunCommand(environment)
  const supervised = new Map<string, Supervised>()
  const listeners = new Set<(change: InstanceChange) => void>()
  const tell = (kind: InstanceChange['kind'], reason: string, one: Supervised) => {
    for (const listener of listeners) listener({ kind, reason, instance: show(one, places) })
  }
  const known = records.list()
  const ports = new Ports(known.map(({ port }) => port))
  const parts = { records, launcher, ports, tell, noteOf: places.instanceNote }
  const readers = new Readers()
  endUnfinishedBuilds(places)
  for (const record of known) {
    const one = new Supervised(record, parts)
    supervised.set(record.instanceId, one)
    one.takeUp()
  }

  const turns = new OneAtATime()
  const startInTurn = async (request: StartRequest): Promise<Instance> => {
    const known = supervised.get(request.instanceId)
    if (known?.isAlive || known?.isRestarting) return show(known, places)
    const one = known ?? new Supervised(newRecord(request), parts)
    const program = await programFor(request, { places, baseEnv })
    mkdirSync(places.instance(request.instanceId), { recursive: true, mode: 0o700 })
    supervised.set(request.instanceId, one)
    await one.start(request, program)
    return show(one, places)
  }
  const stopInTurn = async (instanceId: string, graceSeconds: number): Promise<void> => {
    await supervised.get(instanceId)?.stop(graceSeconds)
    await readers.done(instanceId)
    supervised.delete(instanceId)
    records.remove(instanceId)
  }

  return {
    kind: 'process',
    // They are part of the process tree of `berth up`, which leaves nothing behind.
    survivesStop: false,
    check: async () => ({ version: process.version }),
    build(request, onLine, abort) {
      places.make()
      return buildHere(request, onLine, abort, { places, launcher, run, baseEnv })
    },

    start(request, abort) {
      places.make()
      return turns.run(request.instanceId, () => startInTurn(request), abort)
    },
    stop: (instanceId, { graceSeconds }) => turns.run(instanceId, () => stopInTurn(instanceId, graceSeconds)),
    inspect: async (instanceId) => {
      const one = supervised.get(instanceId)
      await one?.settled()
      return one && show(one, places)
    },
    list: async () => [...supervised.values()].map((one) => show(one, places)),
    logs: (instanceId, after, abort) =>
      readers.count(
        instanceId,
        readOutput(
          instanceId,
          after,
          {
            records,
            recordOf: () => supervised.get(instanceId)?.record,
            hasEnded: () => {
              const one = supervised.get(instanceId)
              return !one || one.hasEnded
            },
          },
          abort,
        ),
      ),
    onChange(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },

    async removeArtifact({ reference, kind }) {
      const target = kind === 'static' ? dirname(reference) : reference
      if (dirname(target) !== places.of('artifacts')) return
      const note = await readArtifactNote(target)
      const isUsed =
        note && [...supervised.values()].some((one) => one.isAlive && one.record.owner.deploymentId === note.deploymentId)
      if (!isUsed) await rm(target, { recursive: true, force: true })
    },
    async listArtifacts() {
      const notes = await Promise.all(
        places.list('artifacts').map((name) => readArtifactNote(join(places.of('artifacts'), name))),
      )
      return notes.flatMap((note) => note ?? [])
    },

    async createVolume({ id, projectId }) {
      places.make()
      const target = places.volume(id)
      await healVolume(target)
      if (existsSync(target)) return
      mkdirSync(target, { mode: 0o700 })
      const uid = places.userOf(projectId)
      if (uid !== null) chownSync(target, uid, uid)
    },
    volumeSizeBytes: async (id) => (existsSync(places.volume(id)) ? folderSizeBytes(places.volume(id)) : null),
    removeVolume: (id) => rm(places.volume(id), { recursive: true, force: true }),
    readVolume: (id, abort) => tarOf(places.volume(id), abort),
    async writeVolume(id, tar, abort) {
      await healVolume(places.volume(id))
      await untarInPlaceOf(places.volume(id), tar, abort)
    },

    async exec(instanceId, command, abort) {
      const one = supervised.get(instanceId)
      if (!one?.isAlive) throw new StartFailed(`The instance ${instanceId} does not run`)
      const { owner } = one.record
      const uid = places.userOf(owner.projectId)
      return execIn(
        launcher.wrap(command.argv, { group: null, uid, note: null }),
        command,
        { cwd: places.home(owner.projectId), baseEnv, run },
        abort,
      )
    },
    async close() {
      listeners.clear()
    },
  }
}

/** Whose listener at its port is its own: the project's user, or where projects have none the process that was launched. */
function ownerOf({ owner, process: launched }: InstanceRecord, places: Places): { listener?: ListenerOwner } {
  const uid = places.userOf(owner.projectId)
  if (process.platform !== 'linux') return {}
  if (uid !== null) return { listener: { uid } }
  return launched?.startTime ? { listener: { pid: launched.pid, startTime: launched.startTime } } : {}
}

function show(one: Supervised, places: Places): Instance {
  const { record } = one
  const state = one.isAlive ? 'running' : one.isRestarting ? 'restarting' : 'exited'
  return {
    instanceId: record.instanceId,
    owner: record.owner,
    service: record.service,
    state,
    // One that does not run is nowhere: its port may be anybody's by now.
    address:
      record.port === null || state !== 'running' ? null : { host: '127.0.0.1', port: record.port, ...ownerOf(record, places) },
    startedAt: record.startedAt,
    exitCode: record.exitCode,
    outOfMemory: record.outOfMemory,
    restarts: record.restarts,
  }
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

async function programFor(
  request: StartRequest,
  { places, baseEnv }: { places: Places; baseEnv: Record<string, string> },
): Promise<Program> {
  const { artifact, owner, port } = request
  if (artifact.kind !== 'folder')
    throw new StartFailed('Only what was built here can run as a process; images need the docker runtime')
  const note = await readArtifactNote(artifact.reference)
  if (!note || basename(dirname(artifact.reference)) !== 'artifacts')
    throw new StartFailed('What was built is not there any more')
  const cwd = join(artifact.reference, 'app', note.rootDirectory)
  const argv = request.command ?? (artifact.startCommand ? wordsOf(artifact.startCommand) : null)
  if (!argv) throw new StartFailed('Nothing says how to start it: set a start command')
  const volumes = Object.fromEntries(request.volumes.map(({ id, name }) => [volumeVariable(name), places.volume(id)]))
  const env = {
    ...baseEnv,
    HOME: places.home(owner.projectId),
    PATH: searchPath(cwd, places, baseEnv),
    NODE_ENV: 'production',
    ...(port === null ? {} : { HOST: '127.0.0.1' }),
    ...volumes,
    ...request.env,
  }
  return { argv: [...(request.entrypoint ?? []), ...argv], cwd, env, uid: places.userOf(owner.projectId) }
}

/** `my-data` is found in BERTH_VOLUME_MY_DATA. */
export const volumeVariable = (name: string) => `BERTH_VOLUME_${name.toUpperCase().replace(/[^A-Z0-9]/g, '_')}`
