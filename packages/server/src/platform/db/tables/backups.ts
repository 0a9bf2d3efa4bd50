import type {
  BackupPayload,
  DestinationCheck,
  DestinationKind,
  InstanceBackup,
  InstanceBackupContent,
  RestoredVolume,
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
  /** The settings that a read may show. */
  config: JsonText
  /** Sealed JSON; null where the kind has no secrets. */
  secrets: string | null
  /** True if an operator gave the location, which may then be on this machine. */
  mayBeHere: Flag
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
  /** Interval of the test restore of its newest run into a temporary location; null: never. */
  proveEveryDays: number | null
  /** Every deployment of the project runs this policy first. */
  beforeDeploy: Flag
  lastProvenAt: Millis | null
  createdBy: string | null
  createdAt: Millis
  updatedAt: Millis
}

/** A backup run. It outlives its policy and its project, so that a deleted project can be restored. */
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
  /** Data that a succeeded run did not save. */
  warning: string | null
  /** `due` from before the pre-command until the post-command has run. */
  postCommandState: 'none' | 'due' | 'done'
  /** The manifest of the newest attempt; after success, a restore reads this manifest. */
  manifestName: string | null
  manifestSha256: string | null
  /** The policy it belonged to, after that policy was deleted, and the policy's retention. */
  formerPolicyId: string | null
  retainCount: number | null
  retainDays: number | null
  /** Public key the run is encrypted to, as `age1…`; null if the run did not succeed or predates this column. */
  recipient: string | null
  /** Set for history that a move imported: its data is at a destination of another instance. */
  importedAt: Millis | null
}

/** The saved data of one volume, database or other item; inserted once all of it is at the destination. */
export interface BackupArtifactsTable {
  id: string
  runId: string
  destinationId: string | null
  name: string
  kind: ArtifactKind
  /** All parts were already stored by earlier runs. */
  reused: Flag
  sizeBytes: number
  sha256: string
  /** The stored parts it consists of, some of them shared with earlier runs. */
  index: JsonText
  /** Details that a restore needs, such as the service that a database runs in. */
  details: JsonText
  position: number
  /** A stored part failed its checksum. */
  damaged: Flag
}

export type ArtifactKind = 'volume' | 'postgres' | 'mysql' | 'mongodb' | 'redis' | 'source'

export interface BackupRestoresTable {
  id: string
  organizationId: string
  runId: string
  projectId: string
  target: 'in_place' | 'copy'
  status: RestoreStatus
  statusSince: Millis
  /**
   * Kept after use, so that the right token for a finished restore is distinguished from a wrong one; null only in rows that
   * predate this.
   */
  tokenHash: string | null
  verification: 'pending' | 'running' | 'passed' | 'failed'
  /** When the verification got its status; null while it is pending. */
  verificationSince: Millis | null
  verifiedBytes: number
  verifyBytesTotal: number | null
  report: JsonText<RestoreReport> | null
  bytesTotal: number | null
  bytesDone: number
  preRestoreRunId: string | null
  dataState: 'untouched' | 'partly_written' | 'restored' | 'undone'
  /** The volumes that a restore to a copy made. */
  copies: JsonText<RestoredVolume[]> | null
  /** Progress of the writing, so that another process can resume it after a crash. */
  progressNote: JsonText | null
  cancelRequested: Flag
  errorCode: string | null
  errorMessage: string | null
  createdBy: string | null
  createdAt: Millis
  startedAt: Millis | null
  finishedAt: Millis | null
}

/** A policy whose project was deleted; restoring the project recreates it. */
export interface RetiredPoliciesTable {
  id: string
  organizationId: string
  projectId: string
  /** The whole row. */
  policy: JsonText<PolicyRow>
  retiredAt: Millis
}

/** The schedule of the backups of the instance itself: at most one row. */
export interface InstanceBackupPoliciesTable {
  /** Always `instance`. */
  id: string
  organizationId: string
  destinationId: string
  cronExpression: string
  timezone: string
  retainCount: number
  content: InstanceBackupContent
  updatedAt: Millis
}

/** A backup of the instance itself, stored as one object. */
export interface InstanceBackupsTable {
  id: string
  /** Organisation of the destination, whose operators are notified. */
  organizationId: string
  destinationId: string | null
  status: InstanceBackup['status']
  trigger: InstanceBackup['trigger']
  content: InstanceBackupContent
  objectName: string
  bytesDone: number
  sizeBytes: number | null
  errorCode: string | null
  errorMessage: string | null
  createdAt: Millis
  startedAt: Millis | null
  finishedAt: Millis | null
}

export interface BackupsTables {
  instanceBackupPolicies: InstanceBackupPoliciesTable
  instanceBackups: InstanceBackupsTable
  retiredPolicies: RetiredPoliciesTable
  backupDestinations: BackupDestinationsTable
  backupPolicies: BackupPoliciesTable
  backupRuns: BackupRunsTable
  backupArtifacts: BackupArtifactsTable
  backupRestores: BackupRestoresTable
}

export type DestinationRow = Selectable<BackupDestinationsTable>
export type PolicyRow = Selectable<BackupPoliciesTable>
export type RunRow = Selectable<BackupRunsTable>
export type ArtifactRow = Selectable<BackupArtifactsTable>
export type RestoreRow = Selectable<BackupRestoresTable>
export type InstanceBackupPolicyRow = Selectable<InstanceBackupPoliciesTable>
export type InstanceBackupRow = Selectable<InstanceBackupsTable>
