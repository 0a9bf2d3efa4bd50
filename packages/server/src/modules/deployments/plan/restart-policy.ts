import type { RestartPolicy } from '../../../drivers/runtime/restart-policy.ts'

/** The part of a unit that says whether it is restarted. */
export interface Restarts {
  /** Restarted on every exit. */
  restart: boolean
  /** Restarted after a failure, at most `maxRetries` times; null: without limit. */
  onFailure?: { maxRetries: number | null }
  /**
   * The service is not declared as a one-shot task: it is healthy once it stays up, and each start of the environment starts it
   * again, even if it exited with 0.
   */
  staysUp?: true
}

export const policyOf = ({ restart, onFailure }: Restarts): RestartPolicy =>
  restart ? { name: 'always' } : onFailure ? { name: 'on-failure', maxRetries: onFailure.maxRetries } : { name: 'no' }

/**
 * The restart policy of a Compose service. As in Compose, a service without a policy is not restarted; unlike `restart: "no"`,
 * that does not make it a one-shot task.
 */
export function restartOf(policy: string | null | undefined): Restarts {
  const [name, retries] = (policy ?? '').split(':')
  if (name === 'always' || name === 'unless-stopped') return { restart: true }
  if (name === 'no') return { restart: false }
  if (name !== 'on-failure') return { restart: false, staysUp: true }
  return { restart: false, staysUp: true, onFailure: { maxRetries: Number(retries) || null } }
}
