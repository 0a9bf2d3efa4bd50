import type { ComposeRestart, ComposeService } from './model.ts'
import { type Place, refuse, warn, within } from './place.ts'
import { fieldsAt, isMapping, mayBeOn, numberAt, sizeMbAt, textAt, warnOfOthers, wholeNumberAt } from './values.ts'

/** The `deploy` part: how many, with how much. */
export function readDeploy(value: unknown, place: Place, service: ComposeService): void {
  const fields = Object.fromEntries(fieldsAt(value, place))
  warnOfOthers(fields, ['mode', 'replicas', 'resources', 'restart_policy'], place)
  const mode = textAt(fields.mode, within(place, 'mode'))
  if (mode !== null && mode !== 'replicated') warn(within(place, 'mode'), `"${mode}" is not understood and is ignored`)
  service.replicas = wholeNumberAt(fields.replicas, within(place, 'replicas')) ?? service.replicas
  readResources(fields.resources, within(place, 'resources'), service)
  service.restart ??= readRestartPolicy(fields.restart_policy, within(place, 'restart_policy'))
}

export function readCpus(value: unknown, place: Place): number | null {
  const cpus = numberAt(value, place)
  if (cpus === null || cpus > 0) return cpus
  warn(place, 'no limit of processors is set by 0')
  return null
}

/** `-1` and `0` are Docker's words for no limit. */
export function readPidsLimit(value: unknown, place: Place): number | null {
  const limit = numberAt(value, place)
  return limit !== null && Number.isInteger(limit) && limit > 0 ? limit : null
}

function readResources(value: unknown, place: Place, service: ComposeService): void {
  const resources = Object.fromEntries(fieldsAt(value, place))
  warnOfOthers(resources, ['limits', 'reservations'], place)
  const at = within(place, 'limits')
  const limits = Object.fromEntries(fieldsAt(resources.limits, at))
  warnOfOthers(limits, ['cpus', 'memory', 'pids'], at)
  service.cpuCores = readCpus(limits.cpus, within(at, 'cpus')) ?? service.cpuCores
  service.memoryMb = sizeMbAt(limits.memory, within(at, 'memory')) ?? service.memoryMb
  service.pidsLimit = readPidsLimit(limits.pids, within(at, 'pids')) ?? service.pidsLimit
  for (const [key, item] of fieldsAt(resources.reservations, within(place, 'reservations'))) {
    const reserved = within(within(place, 'reservations'), key)
    if (key === 'devices' && mayBeOn(item)) refuse(reserved, 'devices of the host are not handed out')
    else warn(reserved, 'is ignored: nothing is reserved')
  }
}

const policies = { none: 'no', 'on-failure': 'on-failure', any: 'always' } as const

function readRestartPolicy(value: unknown, place: Place): ComposeRestart | null {
  if (!isMapping(value)) return null
  warnOfOthers(value, ['condition', 'max_attempts'], place)
  const condition = textAt(value.condition, within(place, 'condition')) ?? 'any'
  const maxRetries = wholeNumberAt(value.max_attempts, within(place, 'max_attempts'))
  if (Object.hasOwn(policies, condition)) return { policy: policies[condition as keyof typeof policies], maxRetries }
  warn(within(place, 'condition'), `"${condition}" is not understood and is ignored`)
  return null
}
