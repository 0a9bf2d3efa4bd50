import type { TransferPhase } from '@berth/contract'
import type { Selectable } from 'kysely'
import type { Flag, JsonText, Millis } from '../columns.ts'

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
  /** Id of the newest delivery of the cloud's feed that was announced here; null: the feed was not read yet. */
  feedPosition: string | null
}

/** A project that was moved to the cloud and lives there, as far as this instance knows. */
export interface CloudProjectsTable {
  projectId: string
  organizationId: string
  /** Account and cloud, as in `cloudTransfers`. */
  cloud: string
  /** The folder of this machine that it was made from, for the way back. */
  localPath: string | null
  movedAt: Millis
  /** The first check since which the cloud has answered 404 for it. */
  missingSince: Millis | null
}

/** A move of a project to the cloud or back, as the instance that is linked drives it. */
export interface CloudTransfersTable {
  id: string
  organizationId: string
  projectId: string
  projectName: string
  direction: 'to_cloud' | 'to_self_hosted'
  /** Which account in which cloud: a link that leads elsewhere by now says nothing about this move. */
  cloud: string
  withData: Flag
  phase: TransferPhase
  bytesDone: number
  bytesTotal: number | null
  warnings: JsonText<string[]>
  /** Why everything was, or is being, taken back. */
  errorCode: string | null
  errorMessage: string | null
  createdBy: string | null
  createdAt: Millis
  finishedAt: Millis | null
}

export interface CloudTables {
  cloudLinks: CloudLinksTable
  cloudTransfers: CloudTransfersTable
  cloudProjects: CloudProjectsTable
}

export type CloudLinkRow = Selectable<CloudLinksTable>
export type CloudProjectRow = Selectable<CloudProjectsTable>
export type CloudTransferRow = Selectable<CloudTransfersTable>
