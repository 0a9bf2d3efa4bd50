import { findCertificate } from '../../edge-proxy/protocol/find-certificate.ts'
import type { AssignedHostnameRow } from '../../platform/db/tables/routing.ts'

/** The names that the edge serves, and the reasons why it does not serve others. */
export interface EdgeState {
  /** Why the last sync failed; null if it succeeded. */
  readonly problem: string | null
  /** Host names that the edge serves, with their project; the dashboard has none. */
  readonly hostnames: ReadonlyMap<string, string | null>
  /** Domains that are not served, by id, with what they lack. */
  readonly waiting: ReadonlyMap<string, string>
  /** Host names that do not match the database, with the reason. */
  readonly refused: ReadonlyMap<string, string>
  /** Certificates that are not in use, with the reason. */
  readonly uncertified: ReadonlyMap<string, string>
  /** Names without a domain row whose certificate was requested. */
  readonly assigned: ReadonlyMap<string, AssignedCertificate>
  /** Problems of certificates as the edge serves them. */
  readonly servedWrong: ReadonlyMap<string, string>
  /** Host names to their one-label aliases. */
  readonly aliases: ReadonlyMap<string, string>
  /** Names of the certificates in use. */
  readonly certificates: ReadonlyMap<string, null>
}

export type AssignedCertificate = Pick<AssignedHostnameRow, 'tls' | 'reason'>

export const emptyEdgeState: EdgeState = Object.freeze({
  problem: null,
  hostnames: new Map(),
  waiting: new Map(),
  refused: new Map(),
  uncertified: new Map(),
  assigned: new Map(),
  servedWrong: new Map(),
  aliases: new Map(),
  certificates: new Map(),
})

/** The certificate in use for a host name: its own, or the wildcard that covers it. */
export function coverageOf({ certificates }: Pick<EdgeState, 'certificates'>, hostname: string): 'own' | 'wildcard' | null {
  const found = findCertificate(certificates, hostname)
  return found === undefined ? null : found === hostname ? 'own' : 'wildcard'
}
