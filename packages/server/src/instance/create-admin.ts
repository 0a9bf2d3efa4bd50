import type { Config } from '../config.ts'
import { systemClock } from '../db/clock.ts'
import { RateLimiter } from '../http/rate-limit.ts'
import { createAccess } from '../modules/access/index.ts'
import { openWorkshop } from './workshop.ts'

/** `berth admin create`: works on the data folder itself, also while the instance runs. */
export async function createAdminHere(config: Config, admin: { email: string; password: string; organization: string }) {
  const workshop = await openWorkshop(config)
  try {
    const { database, logger: log, secretBox } = workshop
    const deps = { database, clock: systemClock, log, secretBox, limiter: new RateLimiter(), publicUrl: () => '' }
    return await createAccess(deps).createAdmin(admin)
  } finally {
    await workshop.close()
  }
}
