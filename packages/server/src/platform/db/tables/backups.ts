import type {
  BackupPayload,
  DestinationCheck,
  DestinationKind,
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
  /** What a read may show. */
  config: JsonText
  /** Sealed JSON; null where the kind has no secrets. */
  secrets: string | null
  /** Whether it may lie on this machine: an operator named where it is. */
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
  /** How often its newest run is restored into a throw-away place; null: never. */
  proveEveryDays: number | null
  /** Each deployment of the project runs it first. */
  beforeDeploy: Flag
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
  /** Data that a succeeded run did not save. */
  warning: string | null
  /** `due` from before the pre-command until the post-command has run. */
  postCommandState: 'none' | 'due' | 'done'
  /** Set with the last byte: a run without one cannot be restored. */
  manifestName: string | null
  manifestSha256: string | null
  /** The policy that it was of, once that is deleted, with what it said about keeping. */
  formerPolicyId: string | null
  retainCount: number | null
  retainDays: number | null
  /** Whose key opens it, as `age1…`; null of one that did not succeed, or is from before this was recorded. */
  recipient: string | null
  /** Set for history that a move brought along: its data is at a destination of another instance. */
  importedAt: Millis | null
}

/** What a run saved of one volume, database or other thing; made when all of it is at the destination. */
export interface BackupArtifactsTable {
  id: string
  runId: string
  destinationId: string | null
  name: string
  kind: ArtifactKind
  /** All of it was there already, stored by earlier runs. */
  reused: Flag
  sizeBytes: number
  sha256: string
  /** Which stored parts it is made of, some of them shared with earlier runs. */
  index: JsonText
  /** What a restore must know of it, such as the service that a database is in. */
  details: JsonText
  position: number
  /** A part of it was found to be not what was stored. */
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
  /** Kept after it was used, so that the right token on an ended restore is told from a wrong one; null only in rows from before that. */
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

/** A policy whose project was deleted; a restore of the project makes it again. */
export interface RetiredPoliciesTable {
  id: string
  organizationId: string
  projectId: string
  /** The whole row. */
  policy: JsonText<PolicyRow>
  retiredAt: Millis
}

export interface BackupsTables {
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
