import type { EdgeDeps } from './deps.ts'

export interface ExpiringCertificate {
  hostname: string
  organizationId: string
  projectId: string
  issuedAt: Date
  expiresAt: Date
}

/** Certificates of connected domains that expire by `until`, or have. */
export async function expiringCertificates(
  until: Date,
  { database }: Pick<EdgeDeps, 'database'>,
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
  return rows.map((row) => ({ ...row, issuedAt: new Date(row.issuedAt), expiresAt: new Date(row.expiresAt) }))
}
