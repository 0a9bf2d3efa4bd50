import { findCertificate } from '../../edge-proxy/protocol/find-certificate.ts'
import type { Db } from '../../platform/db/schema.ts'
import type { AssignedHostnameRow } from '../../platform/db/tables/routing.ts'
import { instanceHostname, isWithinDomain } from '../projects/index.ts'
import type { EdgeDeps } from './deps.ts'

/** Host names that Berth assigns: everything below the base domain, and the dashboard's. They have no domain row. */

type Deps = Pick<EdgeDeps, 'settings' | 'publicUrl' | 'dnsChallenge'>

/** No authority issues certificates for `localhost` or a single label. */
const isPublicName = (hostname: string) => hostname.includes('.') && !isWithinDomain(hostname, 'localhost')

/** The host name at which the edge serves the dashboard; null if the instance has none, or is reached over http. */
export function dashboardHostname({ settings, publicUrl }: Pick<Deps, 'settings' | 'publicUrl'>): string | null {
  const url = publicUrl()
  const hostname = instanceHostname(url)
  if (settings.edgeTlsPort === null || hostname === null || !url.startsWith('https:')) return null
  return isPublicName(hostname) ? hostname : null
}

/** The wildcard that covers the free host names; null without a DNS provider, because only dns-01 can prove it. */
export const wildcardHostname = ({ settings: { baseDomain, edgeTlsPort }, dnsChallenge }: Deps): string | null =>
  dnsChallenge !== null && edgeTlsPort !== null && isPublicName(baseDomain) ? `*.${baseDomain}` : null

/** Whether a certificate can be ordered for a served host name without a domain row. */
export const isAssigned = (hostname: string, deps: Deps): boolean =>
  hostname === dashboardHostname(deps) ||
  (isPublicName(hostname) && hostname !== deps.settings.baseDomain && isWithinDomain(hostname, deps.settings.baseDomain))

/** Names that are ordered at the start and not at their first use. */
export const ownHostnames = (deps: Deps): string[] => {
  const [dashboard, wildcard] = [dashboardHostname(deps), wildcardHostname(deps)]
  const isCovered =
    dashboard !== null && wildcard !== null && findCertificate(new Map([[wildcard, true]]), dashboard) !== undefined
  return [...(wildcard ? [wildcard] : []), ...(dashboard && !isCovered ? [dashboard] : [])]
}

/** The zone of a host name: the names of one zone share the authority's rate limits. */
export const zoneOf = (hostname: string, { baseDomain }: { baseDomain: string }): string =>
  isWithinDomain(hostname.replace(/^\*\./, ''), baseDomain) ? baseDomain : hostname

export const findAssigned = (db: Db, hostname: string): Promise<AssignedHostnameRow | undefined> =>
  db.selectFrom('assignedHostnames').selectAll().where('hostname', '=', hostname).executeTakeFirst()

/** Marks the certificate of an assigned name as requested. */
export async function requestAssigned(db: Db, hostname: string, now: number): Promise<void> {
  const row = { hostname, tls: 'pending' as const, reason: null, nextOrderAt: null, createdAt: now }
  await db
    .insertInto('assignedHostnames')
    .values(row)
    .onConflict((conflict) => conflict.column('hostname').doUpdateSet({ tls: 'pending', nextOrderAt: null }))
    .execute()
}

export async function updateAssigned(
  db: Db,
  hostname: string,
  change: Partial<Omit<AssignedHostnameRow, 'hostname'>>,
): Promise<void> {
  await db.updateTable('assignedHostnames').set(change).where('hostname', '=', hostname).execute()
}
