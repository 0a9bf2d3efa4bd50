import { fail } from '../../../platform/failure.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import { isSetupOrganization } from '../../access/index.ts'
import type { ProjectsDeps } from '../deps.ts'
import { neverExpires } from './upload-claim.ts'

/** Limits open upload sessions: each may take 300 MB of disk for an hour. Uploads that are in use do not count. */
export async function refuseTooManyUploads(
  { db, lock }: Pick<TransactionContext, 'db' | 'lock'>,
  organizationId: string,
  now: number,
  { settings }: Pick<ProjectsDeps, 'settings'>,
): Promise<void> {
  const limit = settings.quotas.uploads
  if (limit === null || (await isSetupOrganization(db, organizationId))) return
  await lock(`uploads:${organizationId}`)
  const { count } = await db
    .selectFrom('uploadSessions')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('organizationId', '=', organizationId)
    .where('expiresAt', '>', now)
    .where('expiresAt', '<', neverExpires)
    .executeTakeFirstOrThrow()
  if (Number(count) >= limit)
    fail('quota_exceeded', {
      field: 'uploads',
      message: `Quota uploads: the organisation has ${count} uploads without a project, and the limit is ${limit}. Use an open session, or wait: each expires after an hour.`,
    })
}
