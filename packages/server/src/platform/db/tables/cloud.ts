import type { Selectable } from 'kysely'
import type { Flag, Millis } from '../columns.ts'

/** The cloud account in which an organisation's other projects live; at most one per organisation. */
export interface CloudLinksTable {
  organizationId: string
  /** No trailing slash. */
  url: string
  /** Sealed. */
  token: string
  tokenLastFour: string
  /** The organisation in the cloud that the token belongs to. */
  remoteOrganizationId: string
  tokenExpiresAt: Millis | null
  /** An operator created the link: the cloud may be on this machine or in its private networks. */
  mayBeInside: Flag
  linkedBy: string
  linkedAt: Millis
  /** JSON of `FeedPosition`: the newest deliveries of the cloud's feed that were announced here. Null: the feed was not read yet. */
  feedPosition: string | null
}

/** A project that was transferred to the cloud and lives there, as far as this instance knows. */
export interface CloudProjectsTable {
  projectId: string
  organizationId: string
  /** Account and cloud, as in `cloudTransfers`. */
  cloud: string
  /** The folder of this machine that it was created from, for transferring it back. */
  localPath: string | null
  movedAt: Millis
  /** When a check first got a 404 for it from the cloud. */
  missingSince: Millis | null
}

export interface CloudTables {
  cloudLinks: CloudLinksTable
  cloudProjects: CloudProjectsTable
}

export type CloudLinkRow = Selectable<CloudLinksTable>
export type CloudProjectRow = Selectable<CloudProjectsTable>
