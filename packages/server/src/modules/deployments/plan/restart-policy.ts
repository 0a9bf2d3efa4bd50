import type { RestartPolicy } from '../../../drivers/runtime/restart-policy.ts'

/** The part of a unit that says whether it is restarted. */
export interface Restarts {
  /** Started again whenever it ends by itself. */
  restart: boolean
  /** Started again when it failed, so often at most; null: without limit. */
  onFailure?: { maxRetries: number | null }
  /** Nothing says that it is a task: it counts as started once it stays up, and is started with its environment even if it ended well. */
  staysUp?: true
}

export const policyOf = ({ restart, onFailure }: Restarts): RestartPolicy =>
  restart ? { name: 'always' } : onFailure ? { name: 'on-failure', maxRetries: onFailure.maxRetries } : { name: 'no' }

/**
 * A service's policy in the words of Compose. As in Compose, one that names none is not restarted; but nothing says that it is a task,
 * as `no` does.
 */
export function restartOf(policy: string | null | undefined): Restarts {
  const [name, retries] = (policy ?? '').split(':')
  if (name === 'always' || name === 'unless-stopped') return { restart: true }
  if (name === 'no') return { restart: false }
  if (name !== 'on-failure') return { restart: false, staysUp: true }
  return { restart: false, staysUp: true, onFailure: { maxRetries: Number(retries) || null } }
}
