import type { ArrivalState, BundleFile, DepartureState } from '@berth/contract'
import type { Selectable } from 'kysely'
import type { Flag, JsonText, Millis } from '../columns.ts'

/** One end of a move, on the instance where that end is. */
export interface TransferEndsTable {
  /** The transfer's, which the other side knows it by too. */
  id: string
  side: 'departure' | 'arrival'
  organizationId: string
  projectId: string
  /** Moved by `transfers/move-end.ts` alone. */
  state: DepartureState | ArrivalState
  withData: Flag
  /** To whom the bundle is encrypted. */
  recipient: string
  /** The public key of whoever signs the manifests. */
  signer: string
  /** Sealed: what opens the bundle, or what signs it. Gone when the end is over. */
  secrets: string | null
  /** Of a departure: what there is to fetch. */
  files: JsonText<BundleFile[]>
  /** Of an arrival: a hash of what was recorded of the project. */
  staged: string | null
  deploymentId: string | null
  /** Of an arrival: a copy that had been kept here became the project again. */
  tookOver: Flag
  warnings: JsonText<string[]>
  errorCode: string | null
  errorMessage: string | null
  createdBy: string
  createdAt: Millis
  /** When somebody last asked for it. */
  touchedAt: Millis
}

export interface TransfersTables {
  transferEnds: TransferEndsTable
}

export type TransferEndRow = Selectable<TransferEndsTable>
