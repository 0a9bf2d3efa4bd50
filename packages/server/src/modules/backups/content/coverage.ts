import type { BackupPayload } from '@berth/contract'
import { BackupFailed } from '../failures.ts'

interface Wanted {
  serviceId: string | null
  payload: Pick<BackupPayload, 'volumes'>
}

export interface Found {
  /** Services of the live deployment. */
  services: readonly string[]
  /** Every volume of the environment, copies included. */
  volumes: readonly string[]
  /** The volumes that hold the project's own data. */
  own: readonly string[]
  /** The number of volumes and dumps that the run saves. */
  saved: number
}

/**
 * Compares what a policy names with what the run found. Rejects when none of it exists, since such a run would succeed without
 * data; returns a warning when some of it, or all data of the project, is left out.
 */
export function checkCoverage({ serviceId, payload }: Wanted, found: Found): string | null {
  if (serviceId !== null && !found.services.includes(serviceId))
    throw new BackupFailed(
      'nothing_found',
      `The policy names the service "${serviceId}", which the live deployment does not have, so nothing was saved. Deploy the service, or create a policy for another one.`,
    )
  const named = payload.volumes === 'all' ? [] : payload.volumes
  const missing = named.filter((name) => !found.volumes.includes(name))
  if (named.length > 0 && found.saved === 0)
    throw new BackupFailed(
      'nothing_found',
      `None of the volumes that the policy names was found: ${named.join(', ')}. Deploy the project, or change the policy's payload.volumes.`,
    )
  if (found.saved === 0 && found.own.length > 0)
    return `No data was saved, although the project has some: ${found.own.join(', ')}. Change the policy, or create one for the whole project.`
  return missing.length > 0 ? `Not found, and therefore not saved: ${missing.join(', ')}.` : null
}
