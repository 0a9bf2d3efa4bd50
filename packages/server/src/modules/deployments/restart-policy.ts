import type { RestartPolicy } from '../../drivers/runtime/restart-policy.ts'
import type { Unit } from './plan.ts'

type Restarts = Pick<Unit, 'restart' | 'onFailure'>

export const policyOf = ({ restart, onFailure }: Restarts): RestartPolicy =>
  restart ? { name: 'always' } : onFailure ? { name: 'on-failure', maxRetries: onFailure.maxRetries } : { name: 'no' }

/**
 * A service's policy in the words of Compose. As in Compose, one that names none is not restarted; but nothing says that it is a task,
 * as `no` does.
 */
export function restartOf(policy: string | null | undefined): Pick<Unit, 'restart' | 'onFailure' | 'staysUp'> {
  const [name, retries] = (policy ?? '').split(':')
  if (name === 'always' || name === 'unless-stopped') return { restart: true }
  if (name === 'no') return { restart: false }
  if (name !== 'on-failure') return { restart: false, staysUp: true }
  return { restart: false, staysUp: true, onFailure: { maxRetries: Number(retries) || null } }
}
