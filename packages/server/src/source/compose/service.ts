import { type Location, refuse, warn, within } from './location.ts'
import type { ComposeMount, ComposeService } from './model.ts'
import { variablesField } from './parse-file.ts'
import { refusedFields } from './refused-fields.ts'
import { fieldsWithoutEffect, serviceFields, unsupportedFields } from './service-fields.ts'
import { fieldsAt, isMapping, notSupported, plainText } from './values.ts'

const serviceName = /^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,62}$/

/** Reads one service field by field: each is read, checked, ignored with a warning, or refused. */
export function readService(name: string, value: unknown, location: Location): ComposeService | null {
  if (!serviceName.test(name)) {
    refuse(location, `"${name.slice(0, 80)}" is not a valid service name`)
    return null
  }
  const service = emptyService(name)
  const refusedBefore = location.reading.refused.length
  for (const [key, item] of fieldsAt(value, location)) {
    const at = within(location, key)
    if (Object.hasOwn(serviceFields, key)) serviceFields[key]!(item, at, service)
    else if (Object.hasOwn(refusedFields, key)) refusedFields[key]!(item, at, service)
    else if (Object.hasOwn(fieldsWithoutEffect, key)) warn(at, fieldsWithoutEffect[key]!)
    else refuse(at, Object.hasOwn(unsupportedFields, key) ? unsupportedFields[key]! : notSupported)
  }
  const named = isMapping(value) ? value[variablesField] : null
  if (Array.isArray(named)) service.variables = [...new Set([...service.variables, ...named.map(plainText)])]
  service.volumes = lastOfEachTarget(service.volumes)
  convertCpuQuota(service, location)
  refuseFilesInReadOnly(service, location)
  // A refused build is already reported.
  if (!service.image && !service.build && location.reading.refused.length === refusedBefore)
    refuse(location, 'the service has neither an image nor a build')
  return service
}

/** Converts a CPU quota per period to a number of CPUs. Docker's default period is 100 ms. */
function convertCpuQuota(service: ComposeService, location: Location): void {
  const { cpuQuota, cpuPeriod } = service
  if (cpuQuota !== null && cpuQuota > 0) service.cpuCores ??= cpuQuota / (cpuPeriod || 100_000)
  else if (cpuPeriod !== null && cpuQuota === null) refuse(within(location, 'cpu_period'), 'requires cpu_quota')
}

/** Refuses inline files in a read-only container, as Compose does: they cannot be written before it starts. */
function refuseFilesInReadOnly({ readOnly, files }: ComposeService, location: Location): void {
  if (!readOnly || files.length === 0) return
  refuse(
    within(location, 'read_only'),
    `"${files[0]!.path}" cannot be written into a read-only container: use a config with file instead of content`,
  )
}

const lastOfEachTarget = (mounts: ComposeMount[]) => [...new Map(mounts.map((mount) => [mount.target, mount])).values()]

const emptyService = (name: string): ComposeService => ({
  name,
  image: null,
  build: null,
  command: null,
  entrypoint: null,
  environment: {},
  variables: [],
  envFiles: [],
  ports: [],
  expose: [],
  volumes: [],
  dependsOn: [],
  healthcheck: null,
  restart: null,
  cpuCores: null,
  memoryMb: null,
  pidsLimit: null,
  replicas: null,
  networks: [],
  networkMode: null,
  containerName: null,
  linkAliases: [],
  volumesFrom: [],
  files: [],
  timeFiles: [],
  labels: {},
  profiles: [],
  user: null,
  workingDir: null,
  hostname: null,
  stopGraceSeconds: null,
  stopSignal: null,
  init: false,
  tty: false,
  stdinOpen: false,
  groups: [],
  dns: [],
  dnsSearch: [],
  dnsOptions: [],
  domainname: null,
  platform: null,
  memoryReservationMb: null,
  cpuPeriod: null,
  cpuQuota: null,
  readOnly: false,
  shmMb: null,
  extraHosts: [],
  ulimits: [],
  sysctls: {},
  capDrop: [],
  capAdd: [],
  noNewPrivileges: false,
})
