import { ownHostnames } from './assigned-hostnames.ts'
import { noCertificate, notRenewed } from './certificates.ts'
import type { EdgeDeps } from './deps.ts'

/** Problems of the certificates of the dashboard and the wildcard: not issued, not renewed, or not served as stored. */
export async function ownCertificateProblems(deps: EdgeDeps): Promise<{ hostname: string; message: string }[]> {
  const names = ownHostnames(deps)
  if (deps.settings.edgeTlsPort === null || names.length === 0) return []
  const rows = await deps.database.db
    .selectFrom('assignedHostnames')
    .leftJoin('certificates', 'certificates.hostname', 'assignedHostnames.hostname')
    .select(['assignedHostnames.hostname', 'assignedHostnames.tls', 'assignedHostnames.reason', 'certificates.problem'])
    .where('assignedHostnames.hostname', 'in', names)
    .execute()
  return rows.flatMap(({ hostname, tls, reason, problem }) => {
    // An order that was requested again after it failed keeps the reason.
    const hasFailed = tls === 'error' || [noCertificate, notRenewed].some((text) => reason?.startsWith(text))
    const message = problem ?? (hasFailed ? reason : null)
    return message ? [{ hostname, message }] : []
  })
}
