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

/** Certificates of connected domains that expire by `until`, or have, though a day went by in which they were to be renewed. */
export async function expiringCertificates(
  until: Date,
  { database, ...deps }: Pick<EdgeDeps, 'database' | 'clock'>,
): Promise<ExpiringCertificate[]> {
  const rows = await database.db
    .selectFrom('certificates')
    .innerJoin('domains', 'domains.hostname', 'certificates.hostname')
    .innerJoin('projects', 'projects.id', 'domains.projectId')
    .where('certificates.expiresAt', '<=', until.getTime())
    .where('projects.deletingSince', 'is', null)
    .select(['certificates.hostname', 'projects.organizationId', 'domains.projectId'])
    .select(['certificates.issuedAt', 'certificates.expiresAt'])
    .execute()
  const overdue = rows.filter((row) => isDue(row, nowOf(deps) - renewalTakesMs))
  return overdue.map((row) => ({ ...row, issuedAt: new Date(row.issuedAt), expiresAt: new Date(row.expiresAt) }))
}
