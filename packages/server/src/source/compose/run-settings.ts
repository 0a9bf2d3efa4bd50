import { type Location, refuse, within } from './location.ts'
import type { ComposeCommand, ComposeDependency, ComposeHealthcheck, ComposeRestart } from './model.ts'
import { fieldsAt, flagAt, isMapping, refuseOthers, secondsAt, textAt, textsAt, wholeNumberAt } from './values.ts'

/** How a service is started, watched and restarted. */

export function readCommand(value: unknown, location: Location): ComposeCommand | null {
  if (Array.isArray(value)) return { kind: 'exec', argv: textsAt(value, location) }
  const line = textAt(value, location)
  return line === null ? null : { kind: 'shell', line }
}

export function readHealthcheck(value: unknown, location: Location): ComposeHealthcheck | null {
  if (value === null) return null
  const fields = Object.fromEntries(fieldsAt(value, location))
  refuseOthers(fields, ['test', 'interval', 'timeout', 'start_period', 'start_interval', 'retries', 'disable'], location)
  const seconds = (key: string) => secondsAt(fields[key], within(location, key))
  if (fields.test === undefined && Object.keys(fields).some((key) => key !== 'disable'))
    refuse(location, "needs a test: the intervals of the image's own check cannot be changed without it")
  return {
    test: flagAt(fields.disable, within(location, 'disable'))
      ? { kind: 'none' }
      : readTest(fields.test, within(location, 'test')),
    intervalSeconds: seconds('interval'),
    timeoutSeconds: seconds('timeout'),
    startPeriodSeconds: seconds('start_period'),
    startIntervalSeconds: seconds('start_interval'),
    retries: wholeNumberAt(fields.retries, within(location, 'retries')),
  }
}

function readTest(value: unknown, location: Location): ComposeHealthcheck['test'] {
  if (!Array.isArray(value)) return readCommand(value, location)
  const [kind, ...words] = textsAt(value, location)
  if (kind === 'NONE') return { kind: 'none' }
  if (kind === 'CMD') return { kind: 'exec', argv: words }
  if (kind === 'CMD-SHELL') return { kind: 'shell', line: words.join(' ') }
  refuse(location, 'starts with neither CMD, CMD-SHELL nor NONE')
  return null
}

const restartPolicies = ['no', 'always', 'on-failure', 'unless-stopped'] as const

export function readRestart(value: unknown, location: Location): ComposeRestart | null {
  const text = textAt(value, location)
  if (text === null) return null
  const [name, retries] = text === 'false' ? ['no'] : text.split(':')
  const policy = restartPolicies.find((known) => known === name)
  if (!policy || (retries !== undefined && !/^\d+$/.test(retries))) {
    refuse(location, `"${text}" is not a restart policy`)
    return null
  }
  return { policy, maxRetries: retries === undefined ? null : Number(retries) }
}

const conditions = ['service_started', 'service_healthy', 'service_completed_successfully'] as const

export function readDependsOn(value: unknown, location: Location): ComposeDependency[] {
  if (!isMapping(value))
    return textsAt(value, location).map((service) => ({ service, condition: 'service_started', required: true }))
  return Object.entries(value).map(([service, item]) => {
    const at = within(location, service)
    const fields = Object.fromEntries(fieldsAt(item, at))
    refuseOthers(fields, ['condition', 'required', 'restart'], at)
    const wanted = textAt(fields.condition, within(at, 'condition')) ?? 'service_started'
    const condition = conditions.find((known) => known === wanted)
    if (!condition) refuse(within(at, 'condition'), `"${wanted}" is not a condition`)
    const required = flagAt(fields.required, within(at, 'required')) ?? true
    return { service, condition: condition ?? 'service_started', required }
  })
}
