import { type ContainerSettings, mostProcesses, sysctlPattern } from '@berth/contract'
import type { ContainerCreateOptions } from 'dockerode'
import { buildCores } from '../../build-cores.ts'
import { wordsOf } from '../../process/build/command-words.ts'
import { volumeVariable } from '../../process/run/project-environment.ts'
import type { Allotment, StartRequest } from '../../runtime.ts'
import { type Engine, isElsewhere } from '../engine.ts'
import type { LabelMap } from '../labels.ts'
import { healthcheckFor } from './engine-health.ts'
import type { JoinedNetwork } from './networks.ts'
import { mountOf } from './volume-helper.ts'

const mb = 1024 * 1024

export interface Place {
  image: string
  labels: LabelMap
  /** Joined in this order; none: the container has no network. */
  networks: readonly JoinedNetwork[]
  hostPort: number | null
  /** The engine's names of the volumes, by our ids. */
  volumeNames: ReadonlyMap<string, string>
  /** It was built here to run as a plain user, and needs no right of root. */
  isUnprivileged: boolean
}

/** Everything that a container of ours is made with. */
export function containerSettings(request: StartRequest, place: Place): ContainerCreateOptions {
  const { hostPort } = place
  const [first] = place.networks
  const port = request.port === null ? null : `${request.port}/tcp`
  const command = request.command ?? (request.artifact.startCommand ? startWords(request.artifact.startCommand) : null)
  return {
    name: containerName(request.instanceId),
    Image: place.image,
    Labels: { ...ownLabels(request.labels), ...place.labels },
    Env: environmentOf(request),
    ...(command ? { Cmd: command } : {}),
    // One empty word is how the engine is told to drop the image's own.
    ...(request.entrypoint ? { Entrypoint: request.entrypoint.length > 0 ? request.entrypoint : [''] } : {}),
    ...(port ? { ExposedPorts: { [port]: {} } } : {}),
    ...insideOf(request.container ?? {}),
    ...healthcheckFor(request.healthProgram),
    ...(first ? { NetworkingConfig: { EndpointsConfig: { [first.network]: { Aliases: [...first.aliases] } } } } : {}),
    HostConfig: {
      ...limitsOf(request.allotment, Math.min(request.container?.pidsLimit ?? mostProcesses, mostProcesses)),
      ...safety(place.isUnprivileged, request.container?.capDrop ?? [], request.container?.capAdd ?? []),
      ...hostSideOf(request),
      NetworkMode: first?.network ?? 'none',
      RestartPolicy: { Name: request.restart ? 'unless-stopped' : 'no' },
      LogConfig: { Type: 'json-file', Config: { 'max-size': '10m', 'max-file': '3' } },
      ...(port && hostPort !== null ? { PortBindings: { [port]: [{ HostIp: '127.0.0.1', HostPort: String(hostPort) }] } } : {}),
      Mounts: [
        ...request.volumes.map(({ id, mountPath, readOnly }) => ({
          ...mountOf(place.volumeNames.get(id) ?? id),
          Target: mountPath,
          ReadOnly: readOnly,
        })),
        ...(request.container?.timeFiles ?? []).map((file) => ({ ...mountOf(file), Target: file, ReadOnly: true })),
      ],
    },
  }
}

const ownLabels = (labels: Readonly<Record<string, string>> = {}) =>
  Object.fromEntries(Object.entries(labels).filter(([name]) => !/^(berth|com\.docker\.)/i.test(name)))

const insideOf = ({
  user,
  workingDir,
  hostname,
  domainname,
  stopSignal,
  stopGraceSeconds,
  tty,
  stdinOpen,
}: ContainerSettings) => ({
  ...(user ? { User: user } : {}),
  ...(workingDir ? { WorkingDir: workingDir } : {}),
  ...(hostname ? { Hostname: hostname } : {}),
  ...(domainname ? { Domainname: domainname } : {}),
  ...(tty ? { Tty: true } : {}),
  ...(stdinOpen ? { OpenStdin: true } : {}),
  ...(stopSignal ? { StopSignal: stopSignal } : {}),
  ...(stopGraceSeconds == null ? {} : { StopTimeout: stopGraceSeconds }),
})

/** What is kept in memory counts as the container's own memory, whatever its size may be. */
function hostSideOf({ container = {}, allotment, network }: StartRequest) {
  const { readOnly, shmMb, tmpfs, extraHosts, ulimits, sysctls, groups, dns, dnsSearch, dnsOptions, init } = container
  const reserved = container.memoryReservationMb
  return {
    ...(readOnly ? { ReadonlyRootfs: true } : {}),
    ...(shmMb ? { ShmSize: shmMb * mb } : {}),
    ...(tmpfs
      ? {
          Tmpfs: Object.fromEntries(
            tmpfs.map(({ target, sizeMb, options = [] }) => [
              target,
              [...options, `size=${Math.max(1, Math.ceil(sizeMb ?? allotment.memoryMb))}m`].join(','),
            ]),
          ),
        }
      : {}),
    ...(extraHosts ? { ExtraHosts: extraHosts.map(({ name, address }) => `${name}:${address}`) } : {}),
    ...(ulimits ? { Ulimits: ulimits.map(({ name, soft, hard }) => ({ Name: name, Soft: soft, Hard: hard })) } : {}),
    ...(sysctls ? { Sysctls: harmless(sysctls) } : {}),
    ...(groups ? { GroupAdd: groups } : {}),
    ...(dns ? { Dns: dns } : {}),
    ...(dnsSearch ? { DnsSearch: dnsSearch } : {}),
    ...(dnsOptions ? { DnsOptions: dnsOptions } : {}),
    // A service has the first process that its file says; some insist on being it.
    ...(network || init != null ? { Init: init ?? false } : {}),
    // The engine refuses to reserve more than the limit.
    ...(reserved ? { MemoryReservation: Math.min(reserved, allotment.memoryMb) * mb } : {}),
  }
}

/** A plan from before IPv6 could only be turned off may turn it on. */
const harmless = (sysctls: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(sysctls).filter(([name, value]) => new RegExp(sysctlPattern(name)).test(value)))

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
export const safety = (isUnprivileged: boolean, dropped: readonly string[] = [], added: readonly string[] = []) => ({
  Init: true,
  CapDrop: ['ALL'],
  CapAdd: [
    ...(isUnprivileged || dropped.includes('ALL') ? [] : rightsOfImages.filter((name) => !dropped.includes(name))),
    ...added,
  ],
  SecurityOpt: ['no-new-privileges'],
})

/** A service of a Compose file that sets `PORT` itself keeps it. */
function environmentOf({ env, port, volumes, network }: StartRequest): string[] {
  const whole = {
    ...Object.fromEntries(volumes.map(({ name, mountPath }) => [volumeVariable(name), mountPath])),
    ...env,
    ...(port === null || (network && Object.hasOwn(env, 'PORT')) ? {} : { PORT: String(port) }),
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
