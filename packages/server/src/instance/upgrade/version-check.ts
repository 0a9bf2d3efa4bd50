import type { InstanceVersion } from '@berth/contract'
import type { Clock } from '../../platform/clock.ts'
import { errorMessage } from '../../platform/error-message.ts'

/** Versions on the package registry that are newer than this one, the newest first. */
export type NewerVersions = () => Promise<readonly string[]>

const hour = 3_600_000

/**
 * Compares the version with the package registry at the first call and then once a day, as long as it is called: while no operator
 * opens the dashboard, nothing is requested. A call never waits for the registry.
 */
export function createVersionCheck(
  version: string,
  newerVersions: NewerVersions | undefined,
  clock: Clock,
): () => InstanceVersion {
  let found: Pick<InstanceVersion, 'newest' | 'checkedAt' | 'problem'> = { newest: null, checkedAt: null, problem: null }
  let nextAt = 0
  const check = async (request: NewerVersions) => {
    const checkedAt = clock.now()
    // Calls until the answer comes start no second check.
    nextAt = checkedAt.getTime() + 24 * hour
    try {
      const [newest = null] = await request()
      found = { newest, checkedAt: checkedAt.toISOString(), problem: null }
    } catch (error) {
      nextAt = checkedAt.getTime() + hour
      found = { ...found, checkedAt: checkedAt.toISOString(), problem: errorMessage(error) }
    }
  }
  return () => {
    if (newerVersions && clock.now().getTime() >= nextAt) void check(newerVersions)
    return { version, isChecked: newerVersions !== undefined, ...found }
  }
}
