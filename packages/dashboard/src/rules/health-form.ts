import type { Project } from '@berth/contract'

type HealthCheck = NonNullable<Project['config']['healthCheck']>

export interface HealthForm {
  path: string
  timeoutSeconds: number | ''
  intervalSeconds: number | ''
  acceptErrors: boolean
}

export const healthForm = (check: HealthCheck | null): HealthForm => ({
  path: check?.path ?? '',
  timeoutSeconds: check?.timeoutSeconds ?? '',
  intervalSeconds: check?.intervalSeconds ?? '',
  acceptErrors: check?.acceptErrors ?? false,
})

/** The health check of a form; null if every field is empty, so that the defaults apply. */
export function healthCheckOf({ path, timeoutSeconds, intervalSeconds, acceptErrors }: HealthForm): HealthCheck | null {
  const check: HealthCheck = {
    ...(path ? { path } : {}),
    ...(timeoutSeconds ? { timeoutSeconds } : {}),
    ...(intervalSeconds ? { intervalSeconds } : {}),
    ...(acceptErrors ? { acceptErrors } : {}),
  }
  return Object.keys(check).length > 0 ? check : null
}
