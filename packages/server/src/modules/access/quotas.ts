import type { QuotaLimitsBody } from '@berth/contract'
import type { Caller } from '../../http/handler.ts'
import { fail } from '../../platform/failure.ts'
import type { TransactionContext } from '../../platform/transaction.ts'
import type { AccessDeps } from './deps.ts'
import { countOwned, findOrganization, quotaOverride } from './store.ts'

/** Quotas of any organisation, for operators. */
export async function quotasOf(organizationId: string, { database, quotasOf }: AccessDeps) {
  if (!(await findOrganization(database.db, organizationId))) fail('not_found')
  return (await quotasOf?.(organizationId)) ?? null
}

export const setQuotas = (organizationId: string, body: QuotaLimitsBody, { database }: AccessDeps): Promise<void> =>
  database.transaction(async ({ db, lock }) => {
    await lock(`quota:${organizationId}`)
    if (!(await findOrganization(db, organizationId))) fail('not_found')
    const merged = { ...(await quotaOverride(db, organizationId)), ...body }
    const limitEntries = Object.entries(merged).filter(([, limit]) => limit !== null && limit !== undefined)
    const quotas = limitEntries.length > 0 ? JSON.stringify(Object.fromEntries(limitEntries)) : null
    await db.updateTable('organizations').set({ quotas }).where('id', '=', organizationId).execute()
  })

/**
 * Limits how many organisations a user owns: each has its own quotas, so unlimited organisations would mean unlimited resources.
 */
export async function refuseTooManyOrganizations(
  { db, lock }: Pick<TransactionContext, 'db' | 'lock'>,
  { userId }: Caller,
  { organizationsEach = null }: AccessDeps,
): Promise<void> {
  if (organizationsEach === null) return
  await lock(`organizations:${userId}`)
  const owned = await countOwned(db, userId)
  if (owned >= organizationsEach)
    fail('quota_exceeded', {
      field: 'organizations',
      message: `Quota organizations: a user can own ${organizationsEach}, and you own ${owned}. Delete one, or ask the operator of this instance for more.`,
    })
}
