import type { ComposeCommand, ComposeDependency, ComposeHealthcheck, ComposeRestart } from './model.ts'
import { type Place, refuse, within } from './place.ts'
import { fieldsAt, flagAt, isMapping, refuseOthers, secondsAt, textAt, textsAt, wholeNumberAt } from './values.ts'

/** How a service is started, watched and restarted. */

export function readCommand(value: unknown, place: Place): ComposeCommand | null {
  if (Array.isArray(value)) return { kind: 'exec', argv: textsAt(value, place) }
  const line = textAt(value, place)
  return line === null ? null : { kind: 'shell', line }
}

export function readHealthcheck(value: unknown, place: Place): ComposeHealthcheck | null {
  if (value === null) return null
  const fields = Object.fromEntries(fieldsAt(value, place))
  refuseOthers(fields, ['test', 'interval', 'timeout', 'start_period', 'start_interval', 'retries', 'disable'], place)
  const seconds = (key: string) => secondsAt(fields[key], within(place, key))
  if (fields.test === undefined && Object.keys(fields).some((key) => key !== 'disable'))
    refuse(place, "needs a test: the times of the image's own check cannot be changed alone")
  return {
    test: flagAt(fields.disable, within(place, 'disable')) ? { kind: 'none' } : readTest(fields.test, within(place, 'test')),
    intervalSeconds: seconds('interval'),
    timeoutSeconds: seconds('timeout'),
    startPeriodSeconds: seconds('start_period'),
    startIntervalSeconds: seconds('start_interval'),
    retries: wholeNumberAt(fields.retries, within(place, 'retries')),
  }
}

function readTest(value: unknown, place: Place): ComposeHealthcheck['test'] {
  if (!Array.isArray(value)) return readCommand(value, place)
  const [kind, ...words] = textsAt(value, place)
  if (kind === 'NONE') return { kind: 'none' }
  if (kind === 'CMD') return { kind: 'exec', argv: words }
  if (kind === 'CMD-SHELL') return { kind: 'shell', line: words.join(' ') }
  refuse(place, 'starts with neither CMD, CMD-SHELL nor NONE')
  return null
}

const restartPolicies = ['no', 'always', 'on-failure', 'unless-stopped'] as const

export function readRestart(value: unknown, place: Place): ComposeRestart | null {
  const text = textAt(value, place)
  if (text === null) return null
  const [name, retries] = text === 'false' ? ['no'] : text.split(':')
  const policy = restartPolicies.find((known) => known === name)
  if (!policy || (retries !== undefined && !/^\d+$/.test(retries))) {
    refuse(place, `"${text}" is not a restart policy`)
    return null
  }
  return { policy, maxRetries: retries === undefined ? null : Number(retries) }
}

const conditions = ['service_started', 'service_healthy', 'service_completed_successfully'] as const

export function readDependsOn(value: unknown, place: Place): ComposeDependency[] {
  if (!isMapping(value))
    return textsAt(value, place).map((service) => ({ service, condition: 'service_started', required: true }))
  return Object.entries(value).map(([service, item]) => {
    const at = within(place, service)
    const fields = Object.fromEntries(fieldsAt(item, at))
    refuseOthers(fields, ['condition', 'required', 'restart'], at)
    const wanted = textAt(fields.condition, within(at, 'condition')) ?? 'service_started'
    const condition = conditions.find((known) => known === wanted)
    if (!condition) refuse(within(at, 'condition'), `"${wanted}" is not a condition`)
    const required = flagAt(fields.required, within(at, 'required')) ?? true
    return { service, condition: condition ?? 'service_started', required }
  })
}
