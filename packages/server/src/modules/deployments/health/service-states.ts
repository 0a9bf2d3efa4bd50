import type { ServiceStatus } from '@berth/contract'
import { endText, type InstanceEnd } from '../../../drivers/runtime/instance-end.ts'
import type { Instance } from '../../../drivers/runtime/runtime.ts'
import { liveEnvironmentJson } from '../../../platform/db/json-columns/deployments.ts'
import type { LiveEnvironmentRow, ServiceState } from '../../../platform/db/tables/deployments.ts'
import type { Unit } from '../plan/deployed.ts'
import { policyOf } from '../plan/restart-policy.ts'
import { hasCompleted } from './health.ts'

/** Service states of an environment, as stored in `liveEnvironments.services`. */

const windowMs = 10 * 60_000
/** Number of exits within the window that makes the project unhealthy. */
const crashLoopExits = 3

export const statesOf = (live: Pick<LiveEnvironmentRow, 'services'>): ServiceState[] => liveEnvironmentJson.services(live) ?? []

export const newState = (unit: Unit): ServiceState => ({
  name: unit.service,
  status: 'starting',
  restarts: 0,
  lastExit: null,
  policy: policyOf(unit).name,
  ends: [],
  counted: null,
})

export const recentExits = ({ ends }: Pick<ServiceState, 'ends'>, now: number): number[] =>
  ends.filter((at) => now - at < windowMs)

export const isLooping = (state: ServiceState, now: number): boolean => recentExits(state, now).length >= crashLoopExits

/** The status of an instance according to the runtime, without probing it. */
export function statusIn(instance: Instance | undefined, unit: Unit): ServiceState['status'] {
  if (!instance) return 'starting'
  if (hasCompleted(instance, unit)) return 'completed'
  return instance.state === 'running' && instance.health?.status === 'unhealthy' ? 'unhealthy' : instance.state
}

/** Sets the status; a crash-looping service that runs at this moment stays `restarting`. */
export const withStatus = (state: ServiceState, status: ServiceState['status'], now: number): ServiceState => ({
  ...state,
  status: status === 'running' && isLooping(state, now) ? 'restarting' : status,
  ends: recentExits(state, now),
})

/** Whether this exit is already recorded. A record without an exit code is completed when the code becomes known. */
export const isRecorded = ({ lastExit }: ServiceState, { at, exitCode }: InstanceEnd): boolean =>
  lastExit !== null && (at < lastExit.at || (at === lastExit.at && (lastExit.code !== null || exitCode === null)))

/** The state after an exit, and the number of new exits: the runtime may have restarted it several times since the last one. */
export function stateAfterExit(before: ServiceState, instance: Instance, now: number): { state: ServiceState; count: number } {
  const end = instance.lastEnd as InstanceEnd
  const lastExit = { code: end.exitCode, reason: end.reason, at: end.at }
  if (before.lastExit?.at === end.at) return { state: { ...before, lastExit }, count: 0 }
  const { instanceId, restarts } = instance
  const counted = { instanceId, restarts }
  if (before.policy !== 'always' && instance.state === 'exited' && end.exitCode === 0)
    return { state: { ...before, status: 'completed', lastExit, counted }, count: 0 }
  const countedRestarts = before.counted?.instanceId === instanceId ? before.counted.restarts : 0
  const hasExited = instance.state === 'exited'
  const restarted = Math.max(restarts - countedRestarts, hasExited ? 0 : 1)
  const count = hasExited ? restarted + 1 : restarted
  const at = Math.min(now, Date.parse(end.at))
  const ends = [...recentExits(before, now), ...Array.from({ length: Math.min(count, crashLoopExits) }, () => at)]
  const state: ServiceState = {
    ...before,
    restarts: before.restarts + restarted,
    lastExit,
    counted,
    ends: ends.filter((time) => now - time < windowMs).slice(-crashLoopExits),
  }
  return { state: { ...state, status: hasExited ? 'exited' : 'restarting' }, count }
}

const timesText = (count: number) => (count === 1 ? '1 time' : `${count} times`)

/** The last exit of a service, and whether it was restarted. */
export function exitText({ name, status, restarts, lastExit, policy }: ServiceState): string | null {
  if (!lastExit) return null
  const exitMessage = `${name || 'The app'} ${endText({ exitCode: lastExit.code, reason: lastExit.reason })}`
  if (status === 'completed') return exitMessage
  if (status !== 'exited') return `${exitMessage}, restarted (${timesText(restarts)})`
  if (policy === 'on-failure' && restarts > 0) return `${exitMessage}, not restarted any more (${timesText(restarts)})`
  return policy === 'no' ? `${exitMessage}, not restarted: it has no restart policy` : `${exitMessage}, not restarted`
}

/** The reason of an alarm. */
export const crashLoopText = (state: ServiceState): string =>
  `${exitText(state)}. It ended ${crashLoopExits} times or more within 10 minutes.${adviceFor(state)}`

const adviceFor = ({ lastExit }: ServiceState) =>
  lastExit?.reason === 'out_of_memory' ? ' Raise its memory limit, or reduce its memory use.' : ''

/** Summary of failing services for the project's record, used when there is no more specific reason. */
export function failingServicesText(states: readonly ServiceState[]): string | null {
  const texts = states.flatMap((state) => {
    const isFailing = state.status === 'exited' || state.status === 'restarting' || state.ends.length > 0
    return isFailing && state.status !== 'completed' ? (exitText(state) ?? []) : []
  })
  return texts.length > 0 ? texts.join('; ') : null
}

const statusWhileNotLive = { sleeping: 'sleeping', stopped: 'stopped', waking: 'starting' } as const

export const showStates = (states: readonly ServiceState[], state: LiveEnvironmentRow['state']): ServiceStatus[] =>
  states.map(({ name, status, restarts, lastExit }) => ({
    name,
    status: state === 'live' || status === 'completed' ? status : statusWhileNotLive[state],
    restarts,
    lastExit,
  }))
