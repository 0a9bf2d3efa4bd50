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
}

/** Our account at a certificate authority, by its directory. */
export interface AcmeAccountsTable {
  directoryUrl: string
  privateKey: string
  accountUrl: string | null
}

/** Answers that the authority asks for while an order is under way. */
export interface AcmeChallengesTable {
  token: string
  keyAuthorization: string
  createdAt: Millis
}

export interface RoutingTables {
  certificates: CertificatesTable
  acmeAccounts: AcmeAccountsTable
  acmeChallenges: AcmeChallengesTable
}

export type CertificateRow = Selectable<CertificatesTable>
