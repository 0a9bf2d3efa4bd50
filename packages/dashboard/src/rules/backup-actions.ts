import {
  type BackupRestore,
  type BackupRun,
  canTransition,
  restoreTransitions,
  runTransitions,
  terminalRun,
} from '@berth/contract'

type Refusal = string | undefined

export const runCancelRefusal = ({ status }: Pick<BackupRun, 'status'>): Refusal =>
  canTransition(runTransitions, status, 'cancelled') ? undefined : `It is ${status} and cannot be cancelled.`

export function restoreRefusal({ status, prunedAt }: Pick<BackupRun, 'status' | 'prunedAt'>): Refusal {
  if (!terminalRun.has(status)) return 'It is still running.'
  if (status !== 'succeeded') return 'Only a successful run can be restored.'
  return prunedAt ? 'Its data was pruned by the retention rule.' : undefined
}

/** A user may request applying at any time while staged, but the data is written only after the verification has passed. */
export function applyRefusal({ status, verification }: Pick<BackupRestore, 'status' | 'verification'>): Refusal {
  if (!canTransition(restoreTransitions, status, 'applying')) return `It is ${status}.`
  return verification.status === 'passed' ? undefined : 'The backup is still being checked.'
}

export const isRunning = ({ status }: Pick<BackupRun, 'status'>): boolean => !terminalRun.has(status)

type RunFacts = Pick<BackupRun, 'status' | 'proven' | 'protected' | 'prunedAt'>

/** Properties of a run that a user should know besides its status. A run succeeds only after its data was read back. */
export const runLabels = ({ status, proven, protected: isProtected, prunedAt }: RunFacts): string[] =>
  [status === 'succeeded' && 'read back', proven && 'proven', isProtected && 'protected', prunedAt && 'pruned'].filter(
    (label) => typeof label === 'string',
  )

export const percentOf = (done: number, total: number | null): number | null =>
  total ? Math.min(100, (100 * done) / total) : null
