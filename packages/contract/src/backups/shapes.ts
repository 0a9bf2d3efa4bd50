import { type Static, Type } from 'typebox'
import { describeFields } from '../describe.ts'
import { byKind, filledText, Id, nullable, oneOf, Port, pageQuery, secret, Time, text } from '../shape.ts'
import { restoreStatuses, runStatuses } from '../states.ts'

export const DestinationKind = oneOf('local', 's3', 'sftp')
export type DestinationKind = Static<typeof DestinationKind>

/** The part of a destination's config that a read shows: keys and passwords are write-only. */
export const DestinationConfig = Type.Object({
  path: Type.Optional(Type.String()),
  endpoint: Type.Optional(Type.String()),
  region: Type.Optional(Type.String()),
  bucket: Type.Optional(Type.String()),
  prefix: Type.Optional(Type.String()),
  accessKeyId: Type.Optional(Type.String()),
  forcePathStyle: Type.Optional(Type.Boolean()),
  host: Type.Optional(Type.String()),
  port: Type.Optional(Type.Integer()),
  user: Type.Optional(Type.String()),
  hostKey: Type.Optional(Type.String()),
  hasSecretAccessKey: Type.Optional(Type.Boolean()),
  hasPassword: Type.Optional(Type.Boolean()),
  hasPrivateKey: Type.Optional(Type.Boolean()),
})
export type DestinationConfig = Static<typeof DestinationConfig>

export const DestinationCheck = Type.Object({
  ok: Type.Boolean(),
  checkedAt: Time,
  durationMs: Type.Integer(),
  reason: nullable(Type.String()),
})
export type DestinationCheck = Static<typeof DestinationCheck>

export const BackupDestination = Type.Object({
  id: Id,
  name: Type.String(),
  kind: DestinationKind,
  config: DestinationConfig,
  lastCheck: nullable(DestinationCheck),
  createdAt: Time,
  updatedAt: Time,
})
export type BackupDestination = Static<typeof BackupDestination>

const LocalConfig = Type.Object({ path: text(1000, 1) })
describeFields(LocalConfig, { path: "Folder below one of the instance's backup roots; a relative path is below the first one" })
const S3Config = Type.Object({
  endpoint: Type.Optional(nullable(text(1000))),
  region: Type.Optional(nullable(text(1000))),
  bucket: text(255, 2),
  prefix: Type.Optional(nullable(text(1000))),
  accessKeyId: text(1000, 1),
  secretAccessKey: secret(text(1000, 1)),
  forcePathStyle: Type.Optional(nullable(Type.Boolean())),
})
describeFields(S3Config, {
  endpoint: 'Address of an S3-compatible server; absent: AWS',
  region: 'Region of the bucket',
  bucket: 'Name of the bucket',
  prefix: 'Folder in the bucket',
  accessKeyId: 'Access key',
  secretAccessKey: 'Secret of the access key; never shown',
  forcePathStyle: 'Address the bucket in the path, as most S3-compatible servers need it',
})
const SftpConfig = Type.Object({
  host: text(253, 1),
  port: Type.Optional(nullable(Port)),
  user: text(1000, 1),
  path: text(1000, 1),
  password: Type.Optional(nullable(secret(text(1000, 1)))),
  privateKey: Type.Optional(nullable(secret(text(20_000, 1)))),
  hostKey: Type.Optional(nullable(text(1000))),
})
describeFields(SftpConfig, {
  host: 'Host name or address of the server',
  port: 'SSH port; 22 by default',
  user: 'User to sign in as',
  path: 'Folder on the server',
  password: 'Password of the user; never shown. Either this or `privateKey` is required',
  privateKey: 'Private key in PEM; never shown',
  hostKey: 'SHA-256 fingerprint of the host key; pinned at the first contact when absent',
})

/** The fields of the config depend on the kind, so the backups module validates them, not this schema. */
const configByKind = byKind({ local: LocalConfig, s3: S3Config, sftp: SftpConfig })
export const DestinationBody = Type.Object({ name: filledText(100), kind: DestinationKind, config: secret(configByKind) })
export type DestinationBody = Static<typeof DestinationBody>

export const DestinationChanges = Type.Object({
  name: Type.Optional(filledText(100)),
  config: Type.Optional(secret(configByKind)),
})
export type DestinationChanges = Static<typeof DestinationChanges>

/** Why a run or a restore failed, in terms that a user can act on. */
export const BackupFailure = Type.Object({ code: Type.String(), message: Type.String() })
export type BackupFailure = Static<typeof BackupFailure>

export const RunTrigger = oneOf('manual', 'schedule', 'webhook', 'pre_restore', 'pre_deploy')
export type RunTrigger = Static<typeof RunTrigger>
export const BackupRunStatus = oneOf(...runStatuses)

export const BackupArtifact = Type.Object({
  name: Type.String(),
  kind: Type.String(),
  sizeBytes: Type.Integer(),
  sha256: Type.String(),
  /** Unchanged since an earlier run: no second copy was stored. */
  reused: Type.Boolean(),
})
export type BackupArtifact = Static<typeof BackupArtifact>

/** `policyId` is null once the policy is deleted; its runs stay restorable. */
export const BackupRun = Type.Object({
  id: Id,
  policyId: nullable(Id),
  projectId: Id,
  /** Name at the time of the run: the project may be deleted since. */
  projectName: Type.String(),
  serviceId: nullable(Id),
  status: BackupRunStatus,
  trigger: RunTrigger,
  createdAt: Time,
  startedAt: nullable(Time),
  finishedAt: nullable(Time),
  bytesTotal: nullable(Type.Integer()),
  bytesDone: Type.Integer(),
  sizeBytes: nullable(Type.Integer()),
  artifacts: Type.Array(BackupArtifact),
  protected: Type.Boolean(),
  protectedUntil: nullable(Time),
  prunedAt: nullable(Time),
  /** A test restore of this run succeeded. */
  proven: Type.Boolean(),
  /** Set when a successful run skipped data that the policy includes. */
  warning: nullable(Type.String()),
  error: nullable(BackupFailure),
})
export type BackupRun = Static<typeof BackupRun>

export const RunsQuery = Type.Object({
  ...pageQuery,
  policyId: Type.Optional(Id),
  status: Type.Optional(BackupRunStatus),
})
export type RunsQuery = Static<typeof RunsQuery>

/** Lists runs of the whole organisation, including deleted projects. */
export const OrganizationRunsQuery = Type.Object({ ...RunsQuery.properties, projectId: Type.Optional(Id) })
export type OrganizationRunsQuery = Static<typeof OrganizationRunsQuery>

export const ProtectBody = Type.Object({
  protected: Type.Optional(Type.Boolean({ default: true })),
  until: Type.Optional(nullable(Time)),
})
export type ProtectBody = Static<typeof ProtectBody>

export const BackupPayload = Type.Object({
  volumes: Type.Union([Type.Literal('all'), Type.Array(text(300, 1), { maxItems: 100 })]),
  databases: oneOf('auto', 'off'),
  exclude: Type.Array(text(300, 1), { maxItems: 100 }),
})
export type BackupPayload = Static<typeof BackupPayload>

export const BackupPolicy = Type.Object({
  id: Id,
  projectId: Id,
  serviceId: nullable(Id),
  destinationId: Id,
  enabled: Type.Boolean(),
  cronExpression: nullable(Type.String()),
  timezone: Type.String(),
  retainCount: nullable(Type.Integer()),
  retainDays: nullable(Type.Integer()),
  payload: BackupPayload,
  preCommand: nullable(Type.String()),
  postCommand: nullable(Type.String()),
  encryption: Type.Literal(true),
  webhookEnabled: Type.Boolean(),
  /** How often its newest successful run is restored into a temporary location as a test; null: never. */
  proveEveryDays: nullable(Type.Integer()),
  /** Every deployment of the project runs this policy first, and continues only if the run succeeded. */
  beforeDeploy: Type.Boolean(),
  createdBy: nullable(Id),
  createdAt: Time,
  updatedAt: Time,
  lastRun: nullable(
    Type.Object({
      id: Id,
      status: BackupRunStatus,
      trigger: RunTrigger,
      startedAt: nullable(Time),
      finishedAt: nullable(Time),
    }),
  ),
  nextRunAt: nullable(Time),
  lastProvenAt: nullable(Time),
})
export type BackupPolicy = Static<typeof BackupPolicy>

/** `webhookToken` is shown once, in the response that created it; only its hash is stored. */
export const ChangedPolicy = Type.Object({ ...BackupPolicy.properties, webhookToken: Type.Optional(Type.String()) })
export type ChangedPolicy = Static<typeof ChangedPolicy>

const policyFields = {
  enabled: Type.Optional(Type.Boolean()),
  cronExpression: Type.Optional(nullable(text(200, 1))),
  timezone: Type.Optional(text(64, 1)),
  retainCount: Type.Optional(nullable(Type.Integer({ minimum: 1, maximum: 10_000 }))),
  retainDays: Type.Optional(nullable(Type.Integer({ minimum: 1, maximum: 36_500 }))),
  payload: Type.Optional(Type.Partial(BackupPayload)),
  preCommand: Type.Optional(nullable(text(500, 1))),
  postCommand: Type.Optional(nullable(text(500, 1))),
  encryption: Type.Optional(Type.Literal(true)),
  proveEveryDays: Type.Optional(nullable(Type.Integer({ minimum: 1, maximum: 365 }))),
  beforeDeploy: Type.Optional(Type.Boolean()),
}

export const PolicyBody = Type.Object({ destinationId: Id, serviceId: Type.Optional(nullable(Id)), ...policyFields })
export type PolicyBody = Static<typeof PolicyBody>

/** The fields that may be changed. The policy's project, its creator and the webhook token itself cannot. */
export const PolicyChanges = Type.Object({
  destinationId: Type.Optional(Id),
  ...policyFields,
  enableWebhook: Type.Optional(Type.Boolean()),
  /** Accepted so that a record can be sent back as a body; `enableWebhook` takes precedence. */
  webhookEnabled: Type.Optional(Type.Boolean()),
  rotateWebhookToken: Type.Optional(Type.Boolean()),
})
export type PolicyChanges = Static<typeof PolicyChanges>

export const StartedRun = Type.Object({ runId: Id })
export type StartedRun = Static<typeof StartedRun>

export const RestoreTarget = oneOf('in_place', 'copy')
export type RestoreTarget = Static<typeof RestoreTarget>
export const BackupRestoreStatus = oneOf(...restoreStatuses)

export const RestoresQuery = Type.Object({ ...pageQuery, status: Type.Optional(BackupRestoreStatus) })
export type RestoresQuery = Static<typeof RestoresQuery>

export const RestoreVerification = Type.Object({
  status: oneOf('pending', 'running', 'passed', 'failed'),
  bytesDone: Type.Integer(),
  bytesTotal: nullable(Type.Integer()),
})
export type RestoreVerification = Static<typeof RestoreVerification>

/**
 * A restore or the verification of its archive changed its status. A `staged` restore is reported again when the verification
 * changes.
 */
export const RestoreTransition = Type.Object({ status: BackupRestoreStatus, at: Time, verification: RestoreVerification })
export type RestoreTransition = Static<typeof RestoreTransition>

/** A volume that a restore to a copy created. */
export const RestoredVolume = Type.Object({ id: Id, name: Type.String() })
export type RestoredVolume = Static<typeof RestoredVolume>

/** The changes that applying the restore would make, item by item. */
export const RestoreReport = Type.Object({
  changes: Type.Array(
    Type.Object({
      kind: Type.String(),
      name: Type.String(),
      volume: nullable(Type.String({ description: 'The volume that is written; null for a database and for a source' })),
      action: oneOf('create', 'replace', 'keep'),
      currentBytes: nullable(Type.Integer()),
      newBytes: nullable(Type.Integer()),
      filesAdded: nullable(Type.Integer()),
      filesChanged: nullable(Type.Integer()),
      filesRemoved: nullable(Type.Integer()),
    }),
  ),
  unchanged: Type.Optional(
    Type.Array(Type.String(), {
      description:
        'Parts of the project that the restore does not change. For an existing project, only volumes and databases are restored.',
    }),
  ),
  warnings: Type.Array(Type.String()),
})
export type RestoreReport = Static<typeof RestoreReport>

/** Never contains the confirmation token. `dataState` is the state of the data after a restore that ended early. */
export const BackupRestore = Type.Object({
  id: Id,
  runId: Id,
  projectId: Id,
  target: RestoreTarget,
  status: BackupRestoreStatus,
  verification: RestoreVerification,
  report: nullable(RestoreReport),
  bytesTotal: nullable(Type.Integer()),
  bytesDone: Type.Integer(),
  preRestoreRunId: nullable(Id),
  /** The volumes that a restore to a copy created; empty for a restore in place. */
  volumes: Type.Array(RestoredVolume),
  dataState: oneOf('untouched', 'partly_written', 'restored', 'undone'),
  error: nullable(BackupFailure),
  createdBy: nullable(Id),
  createdAt: Time,
  startedAt: nullable(Time),
  finishedAt: nullable(Time),
})
export type BackupRestore = Static<typeof BackupRestore>

export const PrepareBody = Type.Object({ target: Type.Optional(RestoreTarget) })
export type PrepareBody = Static<typeof PrepareBody>

export const PreparedRestore = Type.Object({ restoreId: Id, confirmationToken: Type.String() })
export type PreparedRestore = Static<typeof PreparedRestore>

export const ApplyBody = Type.Object({ confirmationToken: secret(text(200, 1)) })
export type ApplyBody = Static<typeof ApplyBody>
