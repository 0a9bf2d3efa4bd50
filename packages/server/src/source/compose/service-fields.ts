import { readBuild } from './build.ts'
import { readCpus, readDeploy, readPidsLimit } from './deploy.ts'
import { readFileMounts } from './file-mounts.ts'
import { readDnsServers, readExtraHosts, readUlimits } from './kernel-settings.ts'
import type { ComposeEnvFile, ComposeService } from './model.ts'
import { readMounts, readTmpfs } from './mounts.ts'
import { projectPath } from './paths.ts'
import { type Place, refuse, warn, within } from './place.ts'
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

type Reader = (value: unknown, place: Place, service: ComposeService) => void

/** The allow-list: every supported service field and its reader. */
export const serviceFields: Record<string, Reader> = {
  image: (value, place, service) => {
    service.image = textAt(value, place)
  },
  build: (value, place, service) => {
    service.build = readBuild(value, place)
  },
  command: (value, place, service) => {
    service.command = readCommand(value, place)
  },
  entrypoint: (value, place, service) => {
    service.entrypoint = readCommand(value, place)
  },
  environment: (value, place, service) => {
    service.environment = readEnvironment(value, place, service)
  },
  env_file: (value, place, service) => {
    service.envFiles = readEnvFiles(value, place)
  },
  ports: (value, place, service) => {
    service.ports = readPorts(value, place)
  },
  expose: (value, place, service) => {
    service.expose = readExpose(value, place)
  },
  volumes: (value, place, service) => addMounts(service, readMounts(value, place, service)),
  tmpfs: (value, place, service) => addMounts(service, readTmpfs(value, place)),
  secrets: (value, place, service) => addMounts(service, readFileMounts('secrets', value, place, service)),
  configs: (value, place, service) => addMounts(service, readFileMounts('configs', value, place, service)),
  depends_on: (value, place, service) => {
    service.dependsOn = readDependsOn(value, place)
  },
  links: readLinks,
  healthcheck: (value, place, service) => {
    service.healthcheck = readHealthcheck(value, place)
  },
  restart: (value, place, service) => {
    service.restart = readRestart(value, place) ?? service.restart
  },
  deploy: readDeploy,
  scale: (value, place, service) => {
    service.replicas ??= wholeNumberAt(value, place)
  },
  cpus: (value, place, service) => {
    service.cpuCores ??= readCpus(value, place)
  },
  mem_limit: (value, place, service) => {
    service.memoryMb ??= sizeMbAt(value, place)
  },
  pids_limit: (value, place, service) => {
    service.pidsLimit ??= readPidsLimit(value, place)
  },
  networks: (value, place, service) => {
    service.networks = readNetworks(value, place)
  },
  labels: (value, place, service) => {
    service.labels = readLabels(value, place)
  },
  profiles: (value, place, service) => {
    service.profiles = textsAt(value, place)
  },
  user: (value, place, service) => {
    service.user = textAt(value, place)
  },
  working_dir: (value, place, service) => {
    service.workingDir = textAt(value, place)
  },
  hostname: (value, place, service) => {
    service.hostname = textAt(value, place)
  },
  stop_grace_period: (value, place, service) => {
    service.stopGraceSeconds = secondsAt(value, place)
  },
  stop_signal: (value, place, service) => {
    service.stopSignal = textAt(value, place)
  },
  init: (value, place, service) => {
    service.init = flagAt(value, place) ?? false
  },
  read_only: (value, place, service) => {
    service.readOnly = flagAt(value, place) ?? false
  },
  shm_size: (value, place, service) => {
    service.shmMb = sizeMbAt(value, place)
  },
  extra_hosts: (value, place, service) => {
    service.extraHosts = readExtraHosts(value, place)
  },
  ulimits: (value, place, service) => {
    service.ulimits = readUlimits(value, place)
  },
  container_name: (value, place, service) => {
    service.containerName = textAt(value, place)
  },
  tty: (value, place, service) => {
    service.tty = flagAt(value, place) ?? false
  },
  stdin_open: (value, place, service) => {
    service.stdinOpen = flagAt(value, place) ?? false
  },
  group_add: (value, place, service) => {
    service.groups = textsAt(value, place)
  },
  dns: (value, place, service) => {
    service.dns = readDnsServers(value, place)
  },
  dns_search: (value, place, service) => {
    service.dnsSearch = textsAt(value, place)
  },
  dns_opt: (value, place, service) => {
    service.dnsOptions = textsAt(value, place)
  },
  domainname: (value, place, service) => {
    service.domainname = textAt(value, place)
  },
  platform: (value, place, service) => {
    service.platform = textAt(value, place)
  },
  mem_reservation: (value, place, service) => {
    service.memoryReservationMb ??= sizeMbAt(value, place)
  },
  cpu_period: (value, place, service) => {
    service.cpuPeriod = wholeNumberAt(value, place)
  },
  cpu_quota: (value, place, service) => {
    service.cpuQuota = numberAt(value, place)
  },
  volumes_from: (value, place, service) => {
    service.volumesFrom = readVolumesFrom(value, place)
  },
  cap_drop: (value, place, service) => {
    service.capDrop = textsAt(value, place).map((name) => name.toUpperCase().replace(/^CAP_/, ''))
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
  cpuset: 'is not supported: use cpus. Which processors a container runs on is not for a project to choose',
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

function readEnvironment(value: unknown, place: Place, service: ComposeService): Record<string, string> {
  const { env } = place.reading
  return Object.fromEntries(
    pairsAt(value, place).flatMap(([key, item]) => {
      const given = item ?? (Object.hasOwn(env, key) ? env[key]! : null)
      if (item === null) service.variables.push(key)
      if (given === null) warn(within(place, key), 'has no value and is left out')
      return given === null ? [] : [[key, given]]
    }),
  )
}

function readEnvFiles(value: unknown, place: Place): ComposeEnvFile[] {
  const items = Array.isArray(value) ? value : [value]
  return items.flatMap((item, index) => {
    const at = Array.isArray(value) ? within(place, index) : place
    const fields: Record<string, unknown> = isMapping(item) ? item : { path: item }
    refuseOthers(fields, ['path', 'required'], at)
    const text = textAt(fields.path, at)
    const path = text === null ? null : projectPath(text, 'the env file', at)
    return path === null ? [] : [{ path, required: flagAt(fields.required, within(at, 'required')) ?? true }]
  })
}

/** Reads links: an older form of dependencies, which may define an alias for the other service. */
function readLinks(value: unknown, place: Place, service: ComposeService): void {
  const known = new Set(service.dependsOn.map((dependency) => dependency.service))
  for (const link of textsAt(value, place)) {
    const [name = '', alias = name] = link.split(':')
    if (alias !== name) service.linkAliases.push({ service: name, alias })
    if (known.has(name)) continue
    known.add(name)
    service.dependsOn.push({ service: name, condition: 'service_started', required: true })
  }
}

const chosen =
  "is not supported: Berth chooses the addresses of networks, so that no two projects have the same. Use the service's name"
const endpointReasons = { ipv4_address: chosen, ipv6_address: chosen, link_local_ips: chosen, mac_address: chosen }

/** Reads `service` and `service:ro`; `container:…` is outside the project. */
function readVolumesFrom(value: unknown, place: Place): ComposeService['volumesFrom'] {
  return textsAt(value, place).flatMap((source, index) => {
    const [service = '', mode = 'rw', ...rest] = source.split(':')
    if (service !== 'container' && rest.length === 0 && /^(ro|rw)$/.test(mode)) return [{ service, readOnly: mode === 'ro' }]
    refuse(within(place, index), `"${source}" is a container outside the project`)
    return []
  })
}

function readNetworks(value: unknown, place: Place): ComposeService['networks'] {
  if (!isMapping(value)) return textsAt(value, place).map((name) => ({ name, aliases: [] }))
  return Object.entries(value).map(([name, item]) => {
    const at = within(place, name)
    refuseOthers(item, ['aliases', 'priority', 'gw_priority'], at, endpointReasons)
    return { name, aliases: isMapping(item) ? textsAt(item.aliases, within(at, 'aliases')) : [] }
  })
}

/** Labels identify the owner of a container, so a file may not set those of Berth and Compose. */
const reservedLabel = /^(berth|com\.docker\.)/i

export function readLabels(value: unknown, place: Place): Record<string, string> {
  return Object.fromEntries(
    pairsAt(value, place).flatMap(([key, item]) => {
      if (!reservedLabel.test(key)) return [[key, item ?? '']]
      warn(within(place, key), 'is a reserved label and is left out')
      return []
    }),
  )
}
