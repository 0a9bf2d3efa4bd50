import type { ComposeMount, ComposeService } from './model.ts'
import { namedVariables } from './parse-file.ts'
import { type Place, refuse, warn, within } from './place.ts'
import { refusedFields } from './refused-fields.ts'
import { fieldsWithoutEffect, serviceFields } from './service-fields.ts'
import { fieldsAt, isMapping, plainText } from './values.ts'

const serviceName = /^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,62}$/

/** One service, field by field: read, judged, known to be of no effect, or not understood. */
export function readService(name: string, value: unknown, place: Place): ComposeService | null {
  if (!serviceName.test(name)) {
    refuse(place, `"${name.slice(0, 80)}" is not a name for a service`)
    return null
  }
  const service = emptyService(name)
  const refusedBefore = place.reading.refused.length
  for (const [key, item] of fieldsAt(value, place)) {
    const at = within(place, key)
    if (Object.hasOwn(serviceFields, key)) serviceFields[key]!(item, at, service)
    else if (Object.hasOwn(refusedFields, key)) refusedFields[key]!(item, at, service)
    else if (Object.hasOwn(fieldsWithoutEffect, key)) warn(at, fieldsWithoutEffect[key]!)
    else warn(at, 'is not understood and is ignored')
  }
  const named = isMapping(value) ? value[namedVariables] : null
  if (Array.isArray(named)) service.variables = [...new Set([...service.variables, ...named.map(plainText)])]
  service.volumes = lastOfEachTarget(service.volumes)
  // A build that was refused is already named; without one, nothing says what to run.
  if (!service.image && !service.build && place.reading.refused.length === refusedBefore)
    refuse(place, 'the service has neither an image nor a build')
  return service
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
  labels: {},
  profiles: [],
  user: null,
  workingDir: null,
  hostname: null,
  stopGraceSeconds: null,
  stopSignal: null,
  init: false,
  readOnly: false,
  shmMb: null,
  extraHosts: [],
  ulimits: [],
  sysctls: {},
  capDrop: [],
  noNewPrivileges: false,
})
