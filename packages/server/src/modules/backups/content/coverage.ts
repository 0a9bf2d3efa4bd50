import type { BackupPayload } from '@berth/contract'
import { BackupFailed } from '../failures.ts'

interface CoveragePolicy {
  serviceId: string | null
  payload: Pick<BackupPayload, 'volumes'>
}

export interface AvailableData {
  /** Services of the live deployment. */
  services: readonly string[]
  /** Every volume of the environment, copies included. */
  volumes: readonly string[]
  /** The volumes that hold the project's own data. */
  ownVolumes: readonly string[]
  /** The number of volumes and dumps that the run saves. */
  savedCount: number
}

/**
 * Compares the services and volumes of a policy with those that exist. Throws when none exists, since such a run would succeed
 * without data; returns a warning when some of them, or all data of the project, are left out.
 */
export function checkCoverage({ serviceId, payload }: CoveragePolicy, available: AvailableData): string | null {
  if (serviceId !== null && !available.services.includes(serviceId))
    throw new BackupFailed(
      'nothing_found',
      `The policy names the service "${serviceId}", which the live deployment does not have, so nothing was saved. Deploy the service, or create a policy for another one.`,
    )
  const namedVolumes = payload.volumes === 'all' ? [] : payload.volumes
  const missing = namedVolumes.filter((name) => !available.volumes.includes(name))
  if (namedVolumes.length > 0 && available.savedCount === 0)
    throw new BackupFailed(
      'nothing_found',
      `None of the volumes that the policy names was found: ${namedVolumes.join(', ')}. Deploy the project, or change the policy's payload.volumes.`,
    )
  if (available.savedCount === 0 && available.ownVolumes.length > 0)
    return `No data was saved, although the project has some: ${available.ownVolumes.join(', ')}. Change the policy, or create one for the whole project.`
  return missing.length > 0 ? `Volumes not found, and therefore not saved: ${missing.join(', ')}.` : null
}
