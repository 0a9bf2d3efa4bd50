import { readBuild } from './build.ts'
import { readCpus, readDeploy, readPidsLimit } from './deploy.ts'
import { readFileMounts } from './file-mounts.ts'
import { readExtraHosts, readUlimits } from './kernel-settings.ts'
import type { ComposeEnvFile, ComposeService } from './model.ts'
import { readMounts, readTmpfs } from './mounts.ts'
import { projectPath } from './paths.ts'
import { type Place, warn, within } from './place.ts'
import { readExpose, readPorts } from './ports.ts'
import { readCommand, readDependsOn, readHealthcheck, readRestart } from './run-settings.ts'
import { flagAt, isMapping, pairsAt, secondsAt, sizeMbAt, textAt, textsAt, warnOfOthers, wholeNumberAt } from './values.ts'

type Reader = (value: unknown, place: Place, service: ComposeService) => void

/** The allow-list: every field of a service that is understood, and where it goes. */
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
  volumes: (value, place, service) => addMounts(service, readMounts(value, place)),
  tmpfs: (value, place, service) => addMounts(service, readTmpfs(value, place)),
  secrets: (value, place, service) => addMounts(service, readFileMounts('secrets', value, place)),
  configs: (value, place, service) => addMounts(service, readFileMounts('configs', value, place)),
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
  cap_drop: (value, place, service) => {
    service.capDrop = textsAt(value, place).map((name) => name.toUpperCase().replace(/^CAP_/, ''))
  },
}

/** Understood, and of no effect here; the words say why. */
export const fieldsWithoutEffect: Record<string, string> = {
  container_name: 'is ignored: containers are named by this product',
  logging: 'is ignored: logs are kept by this product',
  pull_policy: 'is ignored: images are pulled when they are not there',
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
    warnOfOthers(fields, ['path', 'required', 'format'], at)
    const text = textAt(fields.path, at)
    const path = text === null ? null : projectPath(text, 'the env file', at)
    return path === null ? [] : [{ path, required: flagAt(fields.required, within(at, 'required')) ?? true }]
  })
}

/** A link is an older word for a dependency; the name in it works anyway, an alias does not. */
function readLinks(value: unknown, place: Place, service: ComposeService): void {
  const known = new Set(service.dependsOn.map((dependency) => dependency.service))
  for (const [index, link] of textsAt(value, place).entries()) {
    const [name = '', alias = name] = link.split(':')
    if (alias !== name) warn(within(place, index), `the alias "${alias}" is ignored: services reach each other by name`)
    if (known.has(name)) continue
    known.add(name)
    service.dependsOn.push({ service: name, condition: 'service_started', required: true })
  }
}

function readNetworks(value: unknown, place: Place): ComposeService['networks'] {
  if (!isMapping(value)) return textsAt(value, place).map((name) => ({ name, aliases: [] }))
  return Object.entries(value).map(([name, item]) => {
    const at = within(place, name)
    warnOfOthers(item, ['aliases', 'priority', 'gw_priority'], at)
    return { name, aliases: isMapping(item) ? textsAt(item.aliases, within(at, 'aliases')) : [] }
  })
}

/** Labels tell whose a container is, so a file may not set the ones that this product and Compose go by. */
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
