import type { ComposeRestart, ComposeService } from './model.ts'
import { type Place, refuse, warn, within } from './place.ts'
import { fieldsAt, isMapping, mayBeOn, notSupported, numberAt, refuseOthers, sizeMbAt, textAt, wholeNumberAt } from './values.ts'

/** Compose follows these no more than Berth does. */
const ofSwarm = ['labels', 'update_config', 'rollback_config', 'placement', 'endpoint_mode']

/** The `deploy` part: how many, with how much. */
export function readDeploy(value: unknown, place: Place, service: ComposeService): void {
  const fields = Object.fromEntries(fieldsAt(value, place))
  refuseOthers(fields, ['mode', 'replicas', 'resources', 'restart_policy', ...ofSwarm], place)
  for (const key of ofSwarm) if (fields[key] !== undefined) warn(within(place, key), 'has no effect outside of a swarm')
  const mode = textAt(fields.mode, within(place, 'mode'))
  if (mode !== null && mode !== 'replicated' && mode !== 'global')
    refuse(within(place, 'mode'), `"${mode}" is not supported: it is for a swarm`)
  service.replicas = wholeNumberAt(fields.replicas, within(place, 'replicas')) ?? service.replicas
  readResources(fields.resources, within(place, 'resources'), service)
  service.restart ??= readRestartPolicy(fields.restart_policy, within(place, 'restart_policy'))
}

export function readCpus(value: unknown, place: Place): number | null {
  const cpus = numberAt(value, place)
  return cpus === null || cpus > 0 ? cpus : null
}

/** `-1` and `0` are Docker's words for no limit. */
export function readPidsLimit(value: unknown, place: Place): number | null {
  const limit = numberAt(value, place)
  return limit !== null && Number.isInteger(limit) && limit > 0 ? limit : null
}

function readResources(value: unknown, place: Place, service: ComposeService): void {
  const resources = Object.fromEntries(fieldsAt(value, place))
  refuseOthers(resources, ['limits', 'reservations'], place)
  const at = within(place, 'limits')
  const limits = Object.fromEntries(fieldsAt(resources.limits, at))
  refuseOthers(limits, ['cpus', 'memory', 'pids'], at)
  service.cpuCores = readCpus(limits.cpus, within(at, 'cpus')) ?? service.cpuCores
  service.memoryMb = sizeMbAt(limits.memory, within(at, 'memory')) ?? service.memoryMb
  service.pidsLimit = readPidsLimit(limits.pids, within(at, 'pids')) ?? service.pidsLimit
  for (const [key, item] of fieldsAt(resources.reservations, within(place, 'reservations'))) {
    const reserved = within(within(place, 'reservations'), key)
    if (key === 'devices' && mayBeOn(item)) refuse(reserved, 'devices of the host are not handed out')
    else if (key === 'memory') service.memoryReservationMb = sizeMbAt(item, reserved) ?? service.memoryReservationMb
    else if (key === 'cpus') warn(reserved, 'has no effect outside of a swarm')
    else refuse(reserved, notSupported)
  }
}

const policies = { none: 'no', 'on-failure': 'on-failure', any: 'always' } as const

function readRestartPolicy(value: unknown, place: Place): ComposeRestart | null {
  if (!isMapping(value)) return null
  refuseOthers(value, ['condition', 'max_attempts', 'delay', 'window'], place)
  for (const key of ['delay', 'window']) if (key in value) warn(within(place, key), 'has no effect outside of a swarm')
  const condition = textAt(value.condition, within(place, 'condition')) ?? 'any'
  const maxRetries = wholeNumberAt(value.max_attempts, within(place, 'max_attempts'))
  if (Object.hasOwn(policies, condition)) return { policy: policies[condition as keyof typeof policies], maxRetries }
  refuse(within(place, 'condition'), `"${condition}" is not none, on-failure or any`)
  return null
}
