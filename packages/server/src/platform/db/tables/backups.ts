import type {
  BackupPayload,
  DestinationCheck,
  DestinationKind,
  RestoreReport,
  RestoreStatus,
  RunStatus,
  RunTrigger,
} from '@berth/contract'
import type { Selectable } from 'kysely'
import type { Flag, JsonText, Millis } from '../columns.ts'

export interface BackupDestinationsTable {
  id: string
  organizationId: string
  name: string
  kind: DestinationKind
  /** What a read may show. */
  config: JsonText
  /** Sealed JSON; null where the kind has no secrets. */
  secrets: string | null
  lastCheck: JsonText<DestinationCheck> | null
  createdAt: Millis
  updatedAt: Millis
}

export interface BackupPoliciesTable {
  id: string
  organizationId: string
  projectId: string
  /** A service by its name; null: the whole project. */
  serviceId: string | null
  destinationId: string
  enabled: Flag
  cronExpression: string | null
  timezone: string
  retainCount: number | null
  retainDays: number | null
  payload: JsonText<BackupPayload>
  preCommand: string | null
  postCommand: string | null
  webhookEnabled: Flag
  webhookTokenHash: string | null
  /** How often its newest run is restored into a throw-away place; null: never. */
  proveEveryDays: number | null
  lastProvenAt: Millis | null
  createdBy: string | null
  createdAt: Millis
  updatedAt: Millis
}

/** Outlives its policy and its project: what was saved can bring a deleted project back. */
export interface BackupRunsTable {
  id: string
  organizationId: string
  policyId: string | null
  projectId: string
  projectName: string
  serviceId: string | null
  destinationId: string | null
  status: RunStatus
  statusSince: Millis
  trigger: RunTrigger
  createdBy: string | null
  createdAt: Millis
  startedAt: Millis | null
  finishedAt: Millis | null
  bytesTotal: number | null
  bytesDone: number
  sizeBytes: number | null
  protected: Flag
  protectedUntil: Millis | null
  prunedAt: Millis | null
  proven: Flag
  errorCode: string | null
  errorMessage: string | null
  /** `due` from before the pre-command until the post-command has run. */
  postCommandState: 'none' | 'due' | 'done'
  /** Set with the last byte: a run without one cannot be restored. */
  manifestName: string | null
  manifestSha256: string | null
}

/**
 * What a run stores, or shares with an earlier one, at the destination. Written before the bytes, so that whatever was
 * begun is known and can be taken away.
 */
export interface BackupPartsTable {
  id: string
  runId: string
  destinationId: string | null
  /** Name of the stored object. */
  objectName: string
  name: string
  kind: string
  state: 'writing' | 'stored'
  /** Kept for an earlier run already, and shared with it. */
  reused: Flag
  /** Of what was read, before compression and encryption. */
  contentSha256: string | null
  contentBytes: number | null
  /** Of the stored object. */
  sha256: string | null
  sizeBytes: number | null
  /** When it was last read back from the destination whole. */
  readBackAt: Millis | null
  position: number
}

export interface BackupRestoresTable {
  id: string
  organizationId: string
  runId: string
  projectId: string
  target: 'in_place' | 'copy'
  status: RestoreStatus
  statusSince: Millis
  /** null once it is spent or void. */
  tokenHash: string | null
  verification: 'pending' | 'running' | 'passed' | 'failed'
  verifiedBytes: number
  verifyBytesTotal: number | null
  report: JsonText<RestoreReport> | null
  bytesTotal: number | null
  bytesDone: number
  preRestoreRunId: string | null
  dataState: 'untouched' | 'partly_written' | 'restored' | 'undone'
  /** Where the writing stands, for whoever takes it up after a crash. */
  progressNote: JsonText | null
  cancelRequested: Flag
  errorCode: string | null
  errorMessage: string | null
  createdBy: string | null
  createdAt: Millis
  startedAt: Millis | null
  finishedAt: Millis | null
}

export interface BackupsTables {
  backupDestinations: BackupDestinationsTable
  backupPolicies: BackupPoliciesTable
  backupRuns: BackupRunsTable
  backupParts: BackupPartsTable
  backupRestores: BackupRestoresTable
}

export type DestinationRow = Selectable<BackupDestinationsTable>
export type PolicyRow = Selectable<BackupPoliciesTable>
export type RunRow = Selectable<BackupRunsTable>
export type PartRow = Selectable<BackupPartsTable>
export type RestoreRow = Selectable<BackupRestoresTable>
