import type { Deployment, Project } from '@berth/contract'

/** The error that a user should see first: of the newest deployment, or of the running project. */
export function lastErrorOf(
  { status, statusReason }: Pick<Project, 'status' | 'statusReason'>,
  newest: Pick<Deployment, 'status' | 'error'> | undefined,
): string | undefined {
  if (newest?.status === 'failed' && newest.error) return newest.error.message
  return status === 'failed' || status === 'unhealthy' ? (statusReason ?? undefined) : undefined
}
