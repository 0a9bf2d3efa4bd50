import { RateLimiter } from '../../http/rate-limit.ts'
import { createAccess } from '../../modules/access/index.ts'
import { systemClock } from '../../platform/clock.ts'
import type { Config } from '../config/config.ts'
import { openInstanceContext } from '../instance-context.ts'

/** `berth admin create`: works on the data folder itself, also while the instance runs. */
export async function createAdminHere(config: Config, admin: { email: string; password: string; organization: string }) {
  const context = await openInstanceContext(config)
  try {
    const { database, logger: log, secretBox } = context
    const deps = { database, clock: systemClock, log, secretBox, limiter: new RateLimiter(), publicUrl: () => '' }
    return await createAccess(deps).createAdmin(admin)
  } finally {
    await context.close()
  }
}
