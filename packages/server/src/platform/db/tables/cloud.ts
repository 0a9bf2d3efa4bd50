import type { Selectable } from 'kysely'
import type { Flag, Millis } from '../columns.ts'

/** One an organisation at most: the account in the cloud where its other projects live. */
export interface CloudLinksTable {
  organizationId: string
  /** Without a slash at the end. */
  url: string
  /** Sealed. */
  token: string
  tokenLastFour: string
  /** The organisation in the cloud that the token belongs to. */
  remoteOrganizationId: string
  tokenExpiresAt: Millis | null
  /** An operator made the link: the cloud may lie on this machine or in its private networks. */
  mayBeInside: Flag
  linkedBy: string
  linkedAt: Millis
}

export interface CloudTables {
  cloudLinks: CloudLinksTable
}

export type CloudLinkRow = Selectable<CloudLinksTable>
