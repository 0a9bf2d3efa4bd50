import type { TlsState } from '@berth/contract'
import type { Selectable } from 'kysely'
import type { Millis } from '../columns.ts'

/** The newest certificate of a host name; its key is sealed. */
export interface CertificatesTable {
  hostname: string
  /** PEM, leaf first. */
  certificate: string
  privateKey: string
  expiresAt: Millis
  issuedAt: Millis
  /** The last check that the edge serves this certificate, and the problem found. */
  checkedAt: Millis | null
  problem: string | null
}

/** Host names that Berth assigns and has requested a certificate for: free names, the dashboard's, the wildcard. */
export interface AssignedHostnamesTable {
  hostname: string
  tls: TlsState
  reason: string | null
  /** The time of the next order after a failure. */
  nextOrderAt: Millis | null
  createdAt: Millis
}

/** Orders of the last days, for rate limits. */
export interface CertificateOrdersTable {
  hostname: string
  /** Names that share the authority's rate limits: the base domain of assigned names, else the host name. */
  zone: string
  startedAt: Millis
  outcome: 'started' | 'issued' | 'refused' | 'failed'
  /** The time of the authority's Retry-After. */
  retryAt: Millis | null
}

/** Our account at a certificate authority, by its directory. */
export interface AcmeAccountsTable {
  directoryUrl: string
  privateKey: string
  accountUrl: string | null
}

/** Responses to the challenges of running certificate orders. */
export interface AcmeChallengesTable {
  token: string
  keyAuthorization: string
  createdAt: Millis
}

/** The state of the edge as the worker last recorded it: at most one row. API processes read it. */
export interface EdgeStatesTable {
  id: 'edge'
  /** Random; another one means that the entries must be read again from the start. */
  epoch: string
  /** Counts the changes within an epoch. */
  version: number
  /** Why the last sync failed. */
  problem: string | null
  httpPort: number
  httpsPort: number | null
}

/** Facts about names at the edge, one per row. */
export interface EdgeEntriesTable {
  kind: 'hostname' | 'waiting' | 'refused' | 'uncertified' | 'certificate' | 'servedWrong' | 'alias' | 'assigned'
  name: string
  text: string | null
  tls: TlsState | null
  /** The version of the edge's state with which it changed. */
  version: number
  /** The fact no longer holds; the row remains until the next epoch. */
  isRemoved: 0 | 1
}

export interface RoutingTables {
  edgeStates: EdgeStatesTable
  edgeEntries: EdgeEntriesTable
  certificates: CertificatesTable
  acmeAccounts: AcmeAccountsTable
  acmeChallenges: AcmeChallengesTable
  assignedHostnames: AssignedHostnamesTable
  certificateOrders: CertificateOrdersTable
}

export type CertificateRow = Selectable<CertificatesTable>
export type AssignedHostnameRow = Selectable<AssignedHostnamesTable>
export type EdgeEntryRow = Selectable<EdgeEntriesTable>
export type EdgeStateRow = Selectable<EdgeStatesTable>
