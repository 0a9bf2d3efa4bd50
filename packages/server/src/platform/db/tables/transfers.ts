import type { BundleFile, ExportState, ImportState, TransferPhase } from '@berth/contract'
import type { Selectable } from 'kysely'
import type { Flag, JsonText, Millis } from '../columns.ts'

/** The source or target side of a transfer, on the instance of that side. */
export interface TransferSidesTable {
  /** The transfer id, which both sides share. */
  id: string
  side: 'departure' | 'arrival'
  organizationId: string
  projectId: string
  /** Changed only by `transfers/rows/change-side-state.ts`. */
  state: ExportState | ImportState
  withData: Flag
  /** Public key that the bundle is encrypted to. */
  recipient: string
  /** Public key that verifies the signature of the manifests. */
  signer: string
  /** Sealed: the key that decrypts the bundle, or the key that signs it. Null once this side has finished. */
  secrets: string | null
  /** Files to download (source side only). */
  files: JsonText<BundleFile[]>
  /** Hash of the recorded project (target side only). */
  staged: string | null
  deploymentId: string | null
  /** A kept copy on this instance became the project again (target side only). */
  tookOver: Flag
  warnings: JsonText<string[]>
  errorCode: string | null
  errorMessage: string | null
  createdBy: string
  createdAt: Millis
  /** Last access or change of state; an abandoned transfer is detected by it. */
  touchedAt: Millis
}

/** A transfer of a project to the cloud or back, coordinated by the linked instance. */
export interface CloudTransfersTable {
  id: string
  organizationId: string
  projectId: string
  projectName: string
  direction: 'to_cloud' | 'to_self_hosted'
  /** Account and cloud of this transfer; a later change of the link does not affect it. */
  cloud: string
  withData: Flag
  phase: TransferPhase
  bytesDone: number
  bytesTotal: number | null
  warnings: JsonText<string[]>
  /** Why the transfer was, or is being, rolled back. */
  errorCode: string | null
  errorMessage: string | null
  createdBy: string | null
  createdAt: Millis
  finishedAt: Millis | null
}

export interface TransfersTables {
  cloudTransfers: CloudTransfersTable
  transferEnds: TransferSidesTable
}

export type TransferSideRow = Selectable<TransferSidesTable>
export type CloudTransferRow = Selectable<CloudTransfersTable>
