import { type Location, refuse, warn, within } from './location.ts'
import type { ComposeRestart, ComposeService } from './model.ts'
import { fieldsAt, isMapping, mayBeOn, notSupported, numberAt, refuseOthers, sizeMbAt, textAt, wholeNumberAt } from './values.ts'

/** Swarm settings, which Compose ignores too. */
const swarmFields = ['labels', 'update_config', 'rollback_config', 'placement', 'endpoint_mode']

/** Reads `deploy`: replicas, resources and the restart policy. */
export function readDeploy(value: unknown, location: Location, service: ComposeService): void {
  const fields = Object.fromEntries(fieldsAt(value, location))
  refuseOthers(fields, ['mode', 'replicas', 'resources', 'restart_policy', ...swarmFields], location)
  for (const key of swarmFields) if (fields[key] !== undefined) warn(within(location, key), 'has no effect outside of a swarm')
  const mode = textAt(fields.mode, within(location, 'mode'))
  if (mode !== null && mode !== 'replicated' && mode !== 'global')
    refuse(within(location, 'mode'), `"${mode}" is not supported: it is for a swarm`)
  service.replicas = wholeNumberAt(fields.replicas, within(location, 'replicas')) ?? service.replicas
  readResources(fields.resources, within(location, 'resources'), service)
  service.restart ??= readRestartPolicy(fields.restart_policy, within(location, 'restart_policy'))
}

export function readCpus(value: unknown, location: Location): number | null {
  const cpus = numberAt(value, location)
  return cpus === null || cpus > 0 ? cpus : null
}

/** Null for `-1` and `0`, which mean no limit in Docker. */
export function readPidsLimit(value: unknown, location: Location): number | null {
  const limit = numberAt(value, location)
  return limit !== null && Number.isInteger(limit) && limit > 0 ? limit : null
}

function readResources(value: unknown, location: Location, service: ComposeService): void {
  const resources = Object.fromEntries(fieldsAt(value, location))
  refuseOthers(resources, ['limits', 'reservations'], location)
  const at = within(location, 'limits')
  const limits = Object.fromEntries(fieldsAt(resources.limits, at))
  refuseOthers(limits, ['cpus', 'memory', 'pids'], at)
  service.cpuCores = readCpus(limits.cpus, within(at, 'cpus')) ?? service.cpuCores
  service.memoryMb = sizeMbAt(limits.memory, within(at, 'memory')) ?? service.memoryMb
  service.pidsLimit = readPidsLimit(limits.pids, within(at, 'pids')) ?? service.pidsLimit
  for (const [key, item] of fieldsAt(resources.reservations, within(location, 'reservations'))) {
    const reserved = within(within(location, 'reservations'), key)
    if (key === 'devices' && mayBeOn(item)) refuse(reserved, 'containers have no access to devices of the host')
    else if (key === 'memory') service.memoryReservationMb = sizeMbAt(item, reserved) ?? service.memoryReservationMb
    else if (key === 'cpus') warn(reserved, 'has no effect outside of a swarm')
    else refuse(reserved, notSupported)
  }
}

const policies = { none: 'no', 'on-failure': 'on-failure', any: 'always' } as const

function readRestartPolicy(value: unknown, location: Location): ComposeRestart | null {
  if (!isMapping(value)) return null
  refuseOthers(value, ['condition', 'max_attempts', 'delay', 'window'], location)
  for (const key of ['delay', 'window']) if (key in value) warn(within(location, key), 'has no effect outside of a swarm')
  const condition = textAt(value.condition, within(location, 'condition')) ?? 'any'
  const maxRetries = wholeNumberAt(value.max_attempts, within(location, 'max_attempts'))
  if (Object.hasOwn(policies, condition)) return { policy: policies[condition as keyof typeof policies], maxRetries }
  refuse(within(location, 'condition'), `"${condition}" is not none, on-failure or any`)
  return null
}
