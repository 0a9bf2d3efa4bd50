import type { ContainerSettings } from '@berth/contract'
import type { ContainerCreateOptions } from 'dockerode'
import { buildCores } from '../../build-cores.ts'
import { wordsOf } from '../../process/command-words.ts'
import { volumeVariable } from '../../process/project-environment.ts'
import type { Allotment, StartRequest } from '../../runtime.ts'
import { type Engine, isElsewhere } from '../engine.ts'
import type { LabelMap } from '../labels.ts'
import { healthcheckFor } from './engine-health.ts'
import { mountOf } from './volume-helper.ts'

const processes = 1024
const mb = 1024 * 1024

export interface Place {
  image: string
  labels: LabelMap
  network: string
  hostPort: number | null
  /** The engine's names of the volumes, by our ids. */
  volumeNames: ReadonlyMap<string, string>
  /** It was built here to run as a plain user, and needs no right of root. */
  isUnprivileged: boolean
}

/** Everything that a container of ours is made with. */
export function containerSettings(request: StartRequest, place: Place): ContainerCreateOptions {
  const { network, hostPort } = place
  const port = request.port === null ? null : `${request.port}/tcp`
  const command = request.command ?? (request.artifact.startCommand ? startWords(request.artifact.startCommand) : null)
  return {
    name: containerName(request.instanceId),
    Image: place.image,
    Labels: place.labels,
    Env: environmentOf(request),
    ...(command ? { Cmd: command } : {}),
    ...(request.entrypoint ? { Entrypoint: request.entrypoint } : {}),
    ...(port ? { ExposedPorts: { [port]: {} } } : {}),
    ...insideOf(request.container ?? {}),
    ...healthcheckFor(request.healthProgram),
    NetworkingConfig: { EndpointsConfig: { [network]: { Aliases: request.network?.aliases ?? [] } } },
    HostConfig: {
      ...limitsOf(request.allotment, Math.min(request.container?.pidsLimit ?? processes, processes)),
      ...safety(place.isUnprivileged, request.container?.capDrop ?? []),
      ...hostSideOf(request),
      NetworkMode: network,
      RestartPolicy: { Name: request.restart ? 'unless-stopped' : 'no' },
      LogConfig: { Type: 'json-file', Config: { 'max-size': '10m', 'max-file': '3' } },
      ...(port && hostPort !== null ? { PortBindings: { [port]: [{ HostIp: '127.0.0.1', HostPort: String(hostPort) }] } } : {}),
      Mounts: request.volumes.map(({ id, mountPath, readOnly }) => ({
        ...mountOf(place.volumeNames.get(id) ?? id),
        Target: mountPath,
        ReadOnly: readOnly,
      })),
    },
  }
}

const insideOf = ({ user, workingDir, hostname, stopSignal, stopGraceSeconds }: ContainerSettings) => ({
  ...(user ? { User: user } : {}),
  ...(workingDir ? { WorkingDir: workingDir } : {}),
  ...(hostname ? { Hostname: hostname } : {}),
  ...(stopSignal ? { StopSignal: stopSignal } : {}),
  ...(stopGraceSeconds == null ? {} : { StopTimeout: stopGraceSeconds }),
})

/** What is kept in memory counts as the container's own memory, so none of it may be more than that. */
function hostSideOf({ container = {}, allotment }: StartRequest) {
  const { readOnly, shmMb, tmpfs, extraHosts, ulimits, sysctls } = container
  const inMemory = (wanted: number) => Math.min(Math.max(1, Math.ceil(wanted)), allotment.memoryMb)
  return {
    ...(readOnly ? { ReadonlyRootfs: true } : {}),
    ...(shmMb ? { ShmSize: inMemory(shmMb) * mb } : {}),
    ...(tmpfs
      ? {
          Tmpfs: Object.fromEntries(
            tmpfs.map(({ target, sizeMb }) => [target, `size=${inMemory(sizeMb ?? allotment.memoryMb)}m`]),
          ),
        }
      : {}),
    ...(extraHosts ? { ExtraHosts: extraHosts.map(({ name, address }) => `${name}:${address}`) } : {}),
    ...(ulimits ? { Ulimits: ulimits.map(({ name, soft, hard }) => ({ Name: name, Soft: soft, Hard: hard })) } : {}),
    ...(sysctls ? { Sysctls: sysctls } : {}),
  }
}

export const containerName = (instanceId: string) => `berth-${instanceId}`

/** What it may use; no swap beyond its memory. */
export const limitsOf = ({ cpuCores, memoryMb }: Allotment, processLimit: number) => ({
  NanoCpus: Math.round(cpuCores * 1e9),
  Memory: memoryMb * mb,
  MemorySwap: memoryMb * mb,
  PidsLimit: processLimit,
})

/** Beside the 1024 of everything else: a build gives way when the machine is busy. */
const buildShares = 102

/** A build gives way to what serves, and never has the whole machine. */
export const wayGiving = (engine: Engine) => {
  const CpusetCpus = isElsewhere(engine) ? null : buildCores()
  return { CpuShares: buildShares, ...(CpusetCpus ? { CpusetCpus } : {}) }
}

/** Images made elsewhere often start as root, take their folders and then become a plain user. */
const rightsOfImages = ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'NET_BIND_SERVICE', 'SETGID', 'SETUID']

/** What a service drops itself is not given back to it. */
export const safety = (isUnprivileged: boolean, dropped: readonly string[] = []) => ({
  Init: true,
  CapDrop: ['ALL'],
  CapAdd: isUnprivileged || dropped.includes('ALL') ? [] : rightsOfImages.filter((name) => !dropped.includes(name)),
  SecurityOpt: ['no-new-privileges'],
})

function environmentOf({ env, port, volumes }: StartRequest): string[] {
  const whole = {
    ...Object.fromEntries(volumes.map(({ name, mountPath }) => [volumeVariable(name), mountPath])),
    ...env,
    ...(port === null ? {} : { PORT: String(port) }),
  }
  return Object.entries(whole).map(([key, value]) => `${key}=${value}`)
}

/** A shell that only fills in a variable makes room for the program, so that the signal to stop reaches it. */
export function startWords(command: string): string[] {
  const words = wordsOf(command)
  if (words[0] !== '/bin/sh' || words[1] !== '-c' || words[2] !== command) return words
  const isPlain = !/[;&|<>()`\n]/.test(command) && !/^\s*([A-Za-z_]\w*=|exec\s|cd\s|export\s|\.\s)/.test(command)
  return isPlain ? ['/bin/sh', '-c', `exec ${command}`] : words
}
