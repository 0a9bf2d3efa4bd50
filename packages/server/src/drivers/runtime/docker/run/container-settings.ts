import { type ContainerSettings, maxProcesses, sysctlPattern } from '@berth/contract'
import type { ContainerCreateOptions } from 'dockerode'
import { buildCores } from '../../build-cores.ts'
import { argvOfCommand } from '../../process/build/command-words.ts'
import { volumeVariable } from '../../process/run/project-environment.ts'
import type { ResourceLimits, StartRequest } from '../../runtime.ts'
import { type Engine, isRemote } from '../engine.ts'
import type { LabelMap } from '../labels.ts'
import { healthcheckFor } from './engine-health.ts'
import type { JoinedNetwork } from './networks.ts'
import { mountOf } from './volume-helper.ts'

const mb = 1024 * 1024

export interface ContainerResources {
  image: string
  labels: LabelMap
  /** Networks in the order of joining. Empty: no network. */
  networks: readonly JoinedNetwork[]
  hostPort: number | null
  /** Docker volume names by volume id. */
  volumeNames: ReadonlyMap<string, string>
  /** Built here to run as an unprivileged user. It gets no default capabilities. */
  isUnprivileged: boolean
}

/** Settings with which the container of an instance is created. */
export function containerSettings(request: StartRequest, resources: ContainerResources): ContainerCreateOptions {
  const { hostPort } = resources
  const [first] = resources.networks
  const port = request.port === null ? null : `${request.port}/tcp`
  const command = request.command ?? (request.artifact.startCommand ? startArgv(request.artifact.startCommand) : null)
  return {
    name: containerName(request.instanceId),
    Image: resources.image,
    Labels: { ...userLabels(request.labels), ...resources.labels },
    Env: environmentOf(request),
    ...(command ? { Cmd: command } : {}),
    // A single empty string makes the engine drop the image's entrypoint.
    ...(request.entrypoint ? { Entrypoint: request.entrypoint.length > 0 ? request.entrypoint : [''] } : {}),
    ...(port ? { ExposedPorts: { [port]: {} } } : {}),
    ...containerConfigOf(request.container ?? {}),
    ...healthcheckFor(request.healthProgram),
    ...(first ? { NetworkingConfig: { EndpointsConfig: { [first.network]: { Aliases: [...first.aliases] } } } } : {}),
    HostConfig: {
      ...limitsOf(request.resources, Math.min(request.container?.pidsLimit ?? maxProcesses, maxProcesses)),
      ...securitySettings(resources.isUnprivileged, request.container?.capDrop ?? [], request.container?.capAdd ?? []),
      ...hostConfigOf(request),
      NetworkMode: first?.network ?? 'none',
      RestartPolicy: { Name: request.restart ? 'unless-stopped' : 'no' },
      LogConfig: { Type: 'json-file', Config: { 'max-size': '10m', 'max-file': '3' } },
      ...(port && hostPort !== null ? { PortBindings: { [port]: [{ HostIp: '127.0.0.1', HostPort: String(hostPort) }] } } : {}),
      Mounts: [
        ...request.volumes.map(({ id, mountPath, readOnly }) => ({
          ...mountOf(resources.volumeNames.get(id) ?? id),
          Target: mountPath,
          ReadOnly: readOnly,
        })),
        ...(request.container?.timeFiles ?? []).map((file) => ({ ...mountOf(file), Target: file, ReadOnly: true })),
      ],
    },
  }
}

const userLabels = (labels: Readonly<Record<string, string>> = {}) =>
  Object.fromEntries(Object.entries(labels).filter(([name]) => !/^(berth|com\.docker\.)/i.test(name)))

const containerConfigOf = ({
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

/** Settings of HostConfig. Data in tmpfs and shared memory counts towards the container's memory limit. */
function hostConfigOf({ container = {}, resources, network }: StartRequest) {
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
              [...options, `size=${Math.max(1, Math.ceil(sizeMb ?? resources.memoryMb))}m`].join(','),
            ]),
          ),
        }
      : {}),
    ...(extraHosts ? { ExtraHosts: extraHosts.map(({ name, address }) => `${name}:${address}`) } : {}),
    ...(ulimits ? { Ulimits: ulimits.map(({ name, soft, hard }) => ({ Name: name, Soft: soft, Hard: hard })) } : {}),
    ...(sysctls ? { Sysctls: allowedSysctls(sysctls) } : {}),
    ...(groups ? { GroupAdd: groups } : {}),
    ...(dns ? { Dns: dns } : {}),
    ...(dnsSearch ? { DnsSearch: dnsSearch } : {}),
    ...(dnsOptions ? { DnsOptions: dnsOptions } : {}),
    // A Compose service gets an init process only if its file asks for one: some programs must be process 1.
    ...(network || init != null ? { Init: init ?? false } : {}),
    // The engine refuses a reservation above the limit.
    ...(reserved ? { MemoryReservation: Math.min(reserved, resources.memoryMb) * mb } : {}),
  }
}

/** Drops sysctls that are no longer allowed. An old plan may enable IPv6. */
const allowedSysctls = (sysctls: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(sysctls).filter(([name, value]) => new RegExp(sysctlPattern(name)).test(value)))

export const containerName = (instanceId: string) => `berth-${instanceId}`

/** Resource limits. Swap is disabled. */
export const limitsOf = ({ cpuCores, memoryMb }: ResourceLimits, processLimit: number) => ({
  NanoCpus: Math.round(cpuCores * 1e9),
  Memory: memoryMb * mb,
  MemorySwap: memoryMb * mb,
  PidsLimit: processLimit,
})

/** CPU weight of builds. The default of all other containers is 1024. */
const buildShares = 102

/** CPU settings of builds: lower priority than running projects, and not all CPUs. */
export const buildCpuSettings = (engine: Engine) => {
  const CpusetCpus = isRemote(engine) ? null : buildCores()
  return { CpuShares: buildShares, ...(CpusetCpus ? { CpusetCpus } : {}) }
}

/** Capabilities for images that start as root, change the owner of their folders and switch to an unprivileged user. */
const defaultCapabilities = ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'NET_BIND_SERVICE', 'SETGID', 'SETUID']

/** Security settings. A capability that the service drops is not added. */
export const securitySettings = (isUnprivileged: boolean, dropped: readonly string[] = [], added: readonly string[] = []) => ({
  Init: true,
  CapDrop: ['ALL'],
  CapAdd: [
    ...(isUnprivileged || dropped.includes('ALL') ? [] : defaultCapabilities.filter((name) => !dropped.includes(name))),
    ...added,
  ],
  SecurityOpt: ['no-new-privileges'],
})

/** Environment of the container. A Compose service that sets `PORT` keeps its value. */
function environmentOf({ env, port, volumes, network }: StartRequest): string[] {
  const variables = {
    ...Object.fromEntries(volumes.map(({ name, mountPath }) => [volumeVariable(name), mountPath])),
    ...env,
    ...(port === null || (network && Object.hasOwn(env, 'PORT')) ? {} : { PORT: String(port) }),
  }
  return Object.entries(variables).map(([key, value]) => `${key}=${value}`)
}

/** Command line of a start command. `exec` replaces the shell by the program, so that the program gets the stop signal. */
export function startArgv(command: string): string[] {
  const argv = argvOfCommand(command)
  if (argv[0] !== '/bin/sh' || argv[1] !== '-c' || argv[2] !== command) return argv
  const isSimpleCommand = !/[;&|<>()`\n]/.test(command) && !/^\s*([A-Za-z_]\w*=|exec\s|cd\s|export\s|\.\s)/.test(command)
  return isSimpleCommand ? ['/bin/sh', '-c', `exec ${command}`] : argv
}
