import { verifyAllDomains } from '../projects/index.ts'
import { isDue } from './certificates.ts'
import { type EdgeDeps, nowOf } from './deps.ts'

export interface ExpiringCertificate {
  hostname: string
  organizationId: string
  projectId: string
  issuedAt: Date
  expiresAt: Date
}

const renewalTakesMs = 86_400_000

/** Certificates of connected domains that expire by `until` or have expired, and were due for renewal more than a day ago. */
export async function expiringCertificates(
  until: Date,
  { database, settings, ...deps }: Pick<EdgeDeps, 'database' | 'clock' | 'settings'>,
): Promise<ExpiringCertificate[]> {
  const { serving } = await verifyAllDomains(database.db, settings)
  const owners = new Map(serving.map((domain) => [domain.hostname, domain]))
  const certificates = await database.db
    .selectFrom('certificates')
    .select(['hostname', 'issuedAt', 'expiresAt'])
    .where('expiresAt', '<=', until.getTime())
    .execute()
  const rows = certificates.flatMap((row) => {
    const owner = owners.get(row.hostname)
    return owner ? [{ ...row, organizationId: owner.organizationId, projectId: owner.projectId }] : []
  })
  const overdue = rows.filter((row) => isDue(row, nowOf(deps) - renewalTakesMs))
  return overdue.map((row) => ({ ...row, issuedAt: new Date(row.issuedAt), expiresAt: new Date(row.expiresAt) }))
}
