import { RateLimiter } from '../../http/rate-limit.ts'
import { createAccess } from '../../modules/access/index.ts'
import { systemClock } from '../../platform/clock.ts'
import type { Config } from '../config/config.ts'
import { openInstanceContext } from '../instance-context.ts'

interface AccountReset {
  email: string
  password: string
  keepTotp: boolean
  revokeTokens: boolean
}

/** `berth admin reset`: works on the data folder itself, also while the instance runs. Null: no such user. */
export async function resetAccountHere(config: Config, reset: AccountReset) {
  const context = await openInstanceContext(config)
  try {
    const { database, logger: log, secretBox } = context
    const deps = { database, clock: systemClock, log, secretBox, limiter: new RateLimiter(), publicUrl: () => '' }
    return await createAccess(deps).resetAccount(reset)
  } finally {
    await context.close()
  }
}
