import { readBuild } from './build.ts'
import { readCpus, readDeploy, readPidsLimit } from './deploy.ts'
import { readFileMounts } from './file-mounts.ts'
import { readDnsServers, readExtraHosts, readUlimits } from './kernel-settings.ts'
import { type Location, refuse, warn, within } from './location.ts'
import type { ComposeEnvFile, ComposeService } from './model.ts'
import { readMounts, readTmpfs } from './mounts.ts'
import { projectPath } from './paths.ts'
import { readExpose, readPorts } from './ports.ts'
import { readCommand, readDependsOn, readHealthcheck, readRestart } from './run-settings.ts'
import {
  flagAt,
  isMapping,
  numberAt,
  pairsAt,
  refuseOthers,
  secondsAt,
  sizeMbAt,
  textAt,
  textsAt,
  wholeNumberAt,
} from './values.ts'

type Reader = (value: unknown, location: Location, service: ComposeService) => void

/** The allow-list: every supported service field and its reader. */
export const serviceFields: Record<string, Reader> = {
  image: (value, location, service) => {
    service.image = textAt(value, location)
  },
  build: (value, location, service) => {
    service.build = readBuild(value, location)
  },
  command: (value, location, service) => {
    service.command = readCommand(value, location)
  },
  entrypoint: (value, location, service) => {
    service.entrypoint = readCommand(value, location)
  },
  environment: (value, location, service) => {
    service.environment = readEnvironment(value, location, service)
  },
  env_file: (value, location, service) => {
    service.envFiles = readEnvFiles(value, location)
  },
  ports: (value, location, service) => {
    service.ports = readPorts(value, location)
  },
  expose: (value, location, service) => {
    service.expose = readExpose(value, location)
  },
  volumes: (value, location, service) => addMounts(service, readMounts(value, location, service)),
  tmpfs: (value, location, service) => addMounts(service, readTmpfs(value, location)),
  secrets: (value, location, service) => addMounts(service, readFileMounts('secrets', value, location, service)),
  configs: (value, location, service) => addMounts(service, readFileMounts('configs', value, location, service)),
  depends_on: (value, location, service) => {
    service.dependsOn = readDependsOn(value, location)
  },
  links: readLinks,
  healthcheck: (value, location, service) => {
    service.healthcheck = readHealthcheck(value, location)
  },
  restart: (value, location, service) => {
    service.restart = readRestart(value, location) ?? service.restart
  },
  deploy: readDeploy,
  scale: (value, location, service) => {
    service.replicas ??= wholeNumberAt(value, location)
  },
  cpus: (value, location, service) => {
    service.cpuCores ??= readCpus(value, location)
  },
  mem_limit: (value, location, service) => {
    service.memoryMb ??= sizeMbAt(value, location)
  },
  pids_limit: (value, location, service) => {
    service.pidsLimit ??= readPidsLimit(value, location)
  },
  networks: (value, location, service) => {
    service.networks = readNetworks(value, location)
  },
  labels: (value, location, service) => {
    service.labels = readLabels(value, location)
  },
  profiles: (value, location, service) => {
    service.profiles = textsAt(value, location)
  },
  user: (value, location, service) => {
    service.user = textAt(value, location)
  },
  working_dir: (value, location, service) => {
    service.workingDir = textAt(value, location)
  },
  hostname: (value, location, service) => {
    service.hostname = textAt(value, location)
  },
  stop_grace_period: (value, location, service) => {
    service.stopGraceSeconds = secondsAt(value, location)
  },
  stop_signal: (value, location, service) => {
    service.stopSignal = textAt(value, location)
  },
  init: (value, location, service) => {
    service.init = flagAt(value, location) ?? false
  },
  read_only: (value, location, service) => {
    service.readOnly = flagAt(value, location) ?? false
  },
  shm_size: (value, location, service) => {
    service.shmMb = sizeMbAt(value, location)
  },
  extra_hosts: (value, location, service) => {
    service.extraHosts = readExtraHosts(value, location)
  },
  ulimits: (value, location, service) => {
    service.ulimits = readUlimits(value, location)
  },
  container_name: (value, location, service) => {
    service.containerName = textAt(value, location)
  },
  tty: (value, location, service) => {
    service.tty = flagAt(value, location) ?? false
  },
  stdin_open: (value, location, service) => {
    service.stdinOpen = flagAt(value, location) ?? false
  },
  group_add: (value, location, service) => {
    service.groups = textsAt(value, location)
  },
  dns: (value, location, service) => {
    service.dns = readDnsServers(value, location)
  },
  dns_search: (value, location, service) => {
    service.dnsSearch = textsAt(value, location)
  },
  dns_opt: (value, location, service) => {
    service.dnsOptions = textsAt(value, location)
  },
  domainname: (value, location, service) => {
    service.domainname = textAt(value, location)
  },
  platform: (value, location, service) => {
    service.platform = textAt(value, location)
  },
  mem_reservation: (value, location, service) => {
    service.memoryReservationMb ??= sizeMbAt(value, location)
  },
  cpu_period: (value, location, service) => {
    service.cpuPeriod = wholeNumberAt(value, location)
  },
  cpu_quota: (value, location, service) => {
    service.cpuQuota = numberAt(value, location)
  },
  volumes_from: (value, location, service) => {
    service.volumesFrom = readVolumesFrom(value, location)
  },
  cap_drop: (value, location, service) => {
    service.capDrop = textsAt(value, location).map((name) => name.toUpperCase().replace(/^CAP_/, ''))
  },
}

/** Fields without effect on the running service, with the reason. */
export const fieldsWithoutEffect: Record<string, string> = {
  annotations: 'has no effect: no tool on this engine reads annotations',
  attach: 'has no effect: the output of every service is kept',
  develop: 'has no effect: it is for docker compose watch',
  logging: 'has no effect: Berth keeps the output of every service',
}

/** Unsupported fields, with the alternative. Every other unknown field is refused as well. */
export const unsupportedFields: Record<string, string> = {
  blkio_config: 'is not supported: remove it. Disk speed is not limited',
  cpu_count: 'is not supported: use cpus',
  cpu_percent: 'is not supported: use cpus',
  cpu_rt_period: 'is not supported: use cpus',
  cpu_rt_runtime: 'is not supported: use cpus',
  cpu_shares: 'is not supported: use cpus',
  cpuset: 'is not supported: use cpus. A project may not choose its processors',
  isolation: 'is not supported: it is for Windows',
  mac_address: 'is not supported: remove it. The engine chooses the address',
  mem_swappiness: 'is not supported: use mem_limit. Containers have no swap',
  memswap_limit: 'is not supported: use mem_limit. Containers have no swap',
  models: 'is not supported: run the model as a service',
  oom_kill_disable: 'is not supported: use mem_limit',
  oom_score_adj: 'is not supported: use mem_limit',
  runtime: "is not supported: containers run with the engine's own runtime",
  storage_opt: 'is not supported: remove it',
}

function addMounts(service: ComposeService, mounts: ComposeService['volumes']): void {
  service.volumes = [...service.volumes, ...mounts]
}

function readEnvironment(value: unknown, location: Location, service: ComposeService): Record<string, string> {
  const { env } = location.reading
  return Object.fromEntries(
    pairsAt(value, location).flatMap(([key, item]) => {
      const variable = item ?? (Object.hasOwn(env, key) ? env[key]! : null)
      if (item === null) service.variables.push(key)
      if (variable === null) warn(within(location, key), 'has no value and is ignored')
      return variable === null ? [] : [[key, variable]]
    }),
  )
}

function readEnvFiles(value: unknown, location: Location): ComposeEnvFile[] {
  const items = Array.isArray(value) ? value : [value]
  return items.flatMap((item, index) => {
    const at = Array.isArray(value) ? within(location, index) : location
    const fields: Record<string, unknown> = isMapping(item) ? item : { path: item }
    refuseOthers(fields, ['path', 'required'], at)
    const text = textAt(fields.path, at)
    const path = text === null ? null : projectPath(text, 'the env file', at)
    return path === null ? [] : [{ path, required: flagAt(fields.required, within(at, 'required')) ?? true }]
  })
}

/** Reads links: an older form of dependencies, which may define an alias for the other service. */
function readLinks(value: unknown, location: Location, service: ComposeService): void {
  const known = new Set(service.dependsOn.map((dependency) => dependency.service))
  for (const link of textsAt(value, location)) {
    const [name = '', alias = name] = link.split(':')
    if (alias !== name) service.linkAliases.push({ service: name, alias })
    if (known.has(name)) continue
    known.add(name)
    service.dependsOn.push({ service: name, condition: 'service_started', required: true })
  }
}

const addressReason =
  "is not supported: Berth chooses the addresses of networks, so that no two projects have the same. Use the service's name"
const endpointReasons = {
  ipv4_address: addressReason,
  ipv6_address: addressReason,
  link_local_ips: addressReason,
  mac_address: addressReason,
}

/** Reads `service` and `service:ro`; `container:…` is outside the project. */
function readVolumesFrom(value: unknown, location: Location): ComposeService['volumesFrom'] {
  return textsAt(value, location).flatMap((source, index) => {
    const [service = '', mode = 'rw', ...rest] = source.split(':')
    if (service !== 'container' && rest.length === 0 && /^(ro|rw)$/.test(mode)) return [{ service, readOnly: mode === 'ro' }]
    refuse(within(location, index), `"${source}" is a container outside the project`)
    return []
  })
}

function readNetworks(value: unknown, location: Location): ComposeService['networks'] {
  if (!isMapping(value)) return textsAt(value, location).map((name) => ({ name, aliases: [] }))
  return Object.entries(value).map(([name, item]) => {
    const at = within(location, name)
    refuseOthers(item, ['aliases', 'priority', 'gw_priority'], at, endpointReasons)
    return { name, aliases: isMapping(item) ? textsAt(item.aliases, within(at, 'aliases')) : [] }
  })
}

/** Labels identify the owner of a container, so a file may not set those of Berth and Compose. */
const reservedLabel = /^(berth|com\.docker\.)/i

export function readLabels(value: unknown, location: Location): Record<string, string> {
  return Object.fromEntries(
    pairsAt(value, location).flatMap(([key, item]) => {
      if (!reservedLabel.test(key)) return [[key, item ?? '']]
      warn(within(location, key), 'is a reserved label and is ignored')
      return []
    }),
  )
}
