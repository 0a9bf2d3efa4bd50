import { endText } from '../../../drivers/runtime/instance-end.ts'
import type { Instance } from '../../../drivers/runtime/runtime.ts'
import type { Unit } from '../plan/deployed.ts'
import { hasCompleted } from './health.ts'

export interface Problem {
  reason: string
  /** The instance must be created again from its artifact. */
  isGone?: boolean
  /** The runtime stopped it at its disk limit. */
  isDiskFull?: boolean
  /** The instance exited too often within a short time, even if it runs at this moment. */
  isLooping?: boolean
}

/** The problem of an instance according to the runtime. An instance that restarted since the last check counts as crash-looping. */
export function problemIn(
  instance: Instance | undefined,
  unit: Pick<Unit, 'restart' | 'exposed' | 'onFailure' | 'staysUp'>,
  restartsBefore: number | undefined,
  { diskMb }: { diskMb?: number | undefined } = {},
): Problem | null {
  if (!instance) return { reason: 'the container was removed', isGone: true }
  if (instance.networkLost) return { reason: 'its Docker network was removed', isGone: true }
  if (hasCompleted(instance, unit)) return null
  const { state, exitCode, outOfMemory, restarts, health, lastEnd } = instance
  const endMessage = lastEnd ? endText(lastEnd) : null
  if (state === 'exited' && instance.diskFull) return { reason: diskMessage(diskMb), isDiskFull: true }
  if (state === 'exited' && unit.restart)
    return { reason: endMessage ?? `the process exited (code ${exitCode ?? 'unknown'})`, isGone: true }
  if (state === 'exited')
    return { reason: `${endMessage ?? `ended (exit code ${exitCode ?? 'unknown'})`}. ${notRestartedAdvice(unit)}`, isGone: false }
  if (state !== 'restarting' && restarts <= (restartsBefore ?? restarts))
    return health?.status === 'unhealthy' ? { reason: healthText(health) } : null
  const cause = outOfMemory ? 'out of memory, ' : exitCode === null ? '' : `exit code ${exitCode}, `
  return { reason: `the process keeps crashing (${cause}${restarts} restarts)` }
}

const notRestartedAdvice = ({ onFailure, staysUp }: Pick<Unit, 'onFailure' | 'staysUp'>) =>
  onFailure
    ? 'The limit of its restart policy is reached. Fix the cause, then redeploy.'
    : staysUp
      ? 'It is not restarted: its Compose file sets no restart policy. Set restart: unless-stopped to have it restarted.'
      : 'It is not restarted: its restart policy is "no".'

const healthText = ({ program, output }: NonNullable<Instance['health']>): string =>
  `its own health check fails (${program.argv.join(' ')})${output ? `: ${output}` : ''}`

const diskMessage = (diskMb: number | undefined): string =>
  `it was stopped because it exceeded its disk limit${diskMb ? ` of ${diskMb} MB` : ''}. ` +
  'Raise resources.production.diskMb and restart it, or redeploy it: ' +
  'a new deployment starts without the files written outside its volumes.'
