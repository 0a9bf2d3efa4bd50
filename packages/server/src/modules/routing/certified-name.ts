import type { TlsState } from '@berth/contract'
import type { Db } from '../../platform/db/schema.ts'
import { explainTls, findAnyProject, findServingClaim, transitionTls } from '../projects/index.ts'
import { findAssigned, ownHostnames, updateAssigned } from './assigned-hostnames.ts'
import type { EdgeDeps } from './deps.ts'
import type { EdgeState } from './edge-state.ts'

/** A host name that gets a certificate: a connected domain, or a name that Berth assigns. */
export interface CertifiedName {
  hostname: string
  isAssigned: boolean
  /** null: the name belongs to the instance. */
  owner: { organizationId: string; projectId: string; title: string } | null
  tls: TlsState
  reason: string | null
  /** `nextOrderAt` is kept for assigned names; domains are ordered again every hour. */
  transition(db: Db, to: TlsState, reason?: string | null, nextOrderAt?: number | null): Promise<void>
  /** Records why the state is unchanged. */
  explain(db: Db, reason: string): Promise<void>
}

/** The name, if it still needs a certificate of its own. */
export async function findCertifiedName(
  db: Db,
  hostname: string,
  deps: EdgeDeps,
  { hostnames }: Pick<EdgeState, 'hostnames'>,
): Promise<CertifiedName | undefined> {
  const domain = await findServingClaim(db, hostname, deps.settings)
  if (domain) {
    const { id, tls, reason } = domain
    return {
      ...{ hostname, tls, reason, isAssigned: false },
      owner: await ownerOf(db, domain.projectId),
      transition: (db, to, reason) => transitionTls(db, [id], to, reason),
      explain: (db, reason) => explainTls(db, id, reason),
    }
  }
  const row = await findAssigned(db, hostname)
  if (!row || !(hostnames.has(hostname) || ownHostnames(deps).includes(hostname))) return undefined
  const projectId = hostnames.get(hostname) ?? null
  return {
    ...{ hostname, tls: row.tls, reason: row.reason, isAssigned: true },
    owner: projectId === null ? null : await ownerOf(db, projectId),
    transition: (db, tls, reason = null, nextOrderAt = null) => updateAssigned(db, hostname, { tls, reason, nextOrderAt }),
    explain: (db, reason) => updateAssigned(db, hostname, { reason }),
  }
}

async function ownerOf(db: Db, projectId: string): Promise<CertifiedName['owner']> {
  const project = await findAnyProject(db, projectId)
  return project ? { organizationId: project.organizationId, projectId, title: project.name } : null
}
