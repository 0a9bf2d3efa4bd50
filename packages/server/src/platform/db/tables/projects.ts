import type {
  BuildArgs,
  CreateRule,
  HealthCheck,
  Level,
  Presence,
  Resources,
  Service,
  ServiceRoutes,
  TlsState,
  Volume,
} from '@berth/contract'
import type { ColumnType, Generated, Selectable } from 'kysely'
import type { Flag, JsonText, Millis } from '../columns.ts'

/** Settings that a move brought to an instance which cannot apply them. */
export interface CarriedParts {
  /** Edge rules on a cloud, which serves none, as create bodies. */
  rules: CreateRule[]
  /** Grants of people who are not members here. */
  grants: { email: string; level: Level }[]
  /** The upload that stands for a folder of the instance where the project came from. */
  folderUploadId: string | null
}

/** Values of a project's fields as a scan of its source gave them. */
export type DetectedFields = Record<string, string | number | null>

export interface ProjectsTable {
  id: string
  organizationId: string
  name: string
  slug: string
  type: 'app' | 'static' | 'worker' | 'services'
  enabled: Flag
  /** Set when deletion has begun; from then on only the deletion job touches the project. */
  deletingSince: Millis | null
  /** Where it is; moved by `projects/transfer` alone. */
  presence: Generated<Presence>

  gitProvider: string | null
  gitOwner: string | null
  gitRepo: string | null
  gitBranch: string | null
  gitUrl: string | null
  localPath: string | null
  uploadSessionId: string | null
  cloneToken: string | null
  cloneTokenLastFour: string | null
  cloneTokenSetAt: Millis | null

  framework: string | null
  packageManager: string | null
  installCommand: string | null
  buildCommand: string | null
  startCommand: string | null
  outputDirectory: string | null
  rootDirectory: string | null
  dockerfilePath: string | null
  composePath: string | null
  composeProfiles: JsonText<string[]> | null
  buildImage: string | null
  buildArgs: JsonText<BuildArgs> | null
  buildTarget: string | null
  /** The project is this image and nothing is built; the other sources wait. */
  image: string | null
  port: number
  /** Set by somebody; else the port that is found in the source counts. */
  portChosen: Generated<0 | 1>
  healthCheck: JsonText<HealthCheck> | null
  volumes: JsonText<Volume[]>
  services: JsonText<Service[]>
  /** Which of them have an address of their own, where somebody said so. */
  serviceRoutes: JsonText<ServiceRoutes> | null
  resources: JsonText<Pick<Resources, 'production' | 'build'>>
  sleepMode: 'auto_sleep' | 'always_on'
  autoDeploy: Flag
  previews: Flag
  previewsMaximum: Generated<number>
  previewsMaxAgeDays: number | null
  /** Said by somebody with `project:admin`; else production's variables never reach a preview. */
  previewsUseProduction: ColumnType<0 | 1, boolean | 0 | 1 | undefined, boolean | 0 | 1>
  rollbackWindow: number
  webhookDomain: string | null
  serverId: string | null
  /** Counts the changes of production's variables. */
  envVersion: Generated<number>
  /** Parts of the project that came with a move and are not in force here; they travel on with it. */
  carried: JsonText<CarriedParts> | null
  /** Values of fields that were taken from a scan, by field. A field with another value was chosen by a person. */
  detected: JsonText<DetectedFields> | null

  createdAt: Millis
  updatedAt: Millis
}

export interface EnvironmentsTable {
  id: string
  projectId: string
  name: string
  slug: string
  type: 'production' | 'preview' | 'development'
  branch: string | null
  /**
   * The upload that its newest deployment was asked for. Production's is in the project, unless the project is made of
   * something else.
   */
  uploadSessionId: string | null
  /** The number of the pull request that made it. */
  pullRequest: number | null
  /** That pull request comes out of another repository: production's variables never reach it. */
  fromFork: ColumnType<0 | 1, boolean | 0 | 1 | undefined, boolean | 0 | 1>
  /** Set when its deletion has begun: nothing is deployed to it or changed in it from then on. */
  deletingSince: Millis | null
  createdAt: Millis
}

export interface EnvVariablesTable {
  projectId: string
  /** The environment's slug. */
  environment: string
  key: string
  /** Always encrypted; `isSecret` only says whether a read may show it. */
  value: string
  isSecret: Flag
  updatedAt: Millis
}

/** What an organisation claims to be its own. Several may claim a name; one of them has proven it, or none. */
export interface DomainsTable {
  id: string
  projectId: string
  organizationId: string
  hostname: string
  isPrimary: Flag
  /** Moved by `projects/domains/domain-tls.ts` alone. */
  tls: TlsState
  state: 'synced' | 'pending' | 'error'
  reason: string | null
  /** What the TXT record holds that proves the claim. */
  proofToken: string
  provenAt: Millis | null
  /** null: proven, nothing to look for. */
  nextCheckAt: Millis | null
  createdAt: Millis
}

export interface RouteRulesTable {
  id: string
  projectId: string
  kind: 'rate-limit' | 'ban' | 'allow-deny'
  enabled: Flag
  pathPrefix: string | null
  hostname: string | null
  dryRun: Flag
  expiresAt: Millis | null
  config: JsonText
  hits: number
  createdAt: Millis
  updatedAt: Millis
}

export interface UploadSessionsTable {
  id: string
  organizationId: string
  createdBy: string
  /** The project that it is for; null: for one to be made of it, or any. */
  projectId: string | null
  hints: JsonText
  /** `open` until a good tarball has arrived whole. */
  status: 'open' | 'received'
  /** Said when it was opened; what arrives must be that. */
  declaredBytes: number | null
  declaredSha256: string | null
  /** It is sent to the object store, and fetched from there when it is first asked for. */
  /** The session in the linked cloud that the files were passed on to. */
  cloudSessionId: string | null
  inStore: ColumnType<0 | 1, boolean | 0 | 1 | undefined, boolean | 0 | 1>
  /** The newest scan of the files. */
  scan: ColumnType<string | null, string | null | undefined, string>
  sizeBytes: number | null
  files: number | null
  expiresAt: Millis
  createdAt: Millis
}

/**
 * What an environment was asked and used in a span of time, as one counter has seen it. A counter replaces what it wrote; what several
 * wrote of one span adds up.
 */
export interface MetricsTable {
  environmentId: string
  /** A minute, or half an hour once it is older. */
  spanSeconds: number
  at: Millis
  counter: string
  requests: number
  errors4xx: number
  errors5xx: number
  bytesOut: number
  /** From `packLatency`; null where nothing was asked. */
  latency: JsonText<number[]> | null
  /** Of everything that ran, within the time that it was looked at. */
  cpuMs: number
  observedMs: number
  /** The most at once. */
  memoryKb: number
  /** How often a service ended by itself. */
  restarts: number
}

export type OperationKind =
  | 'deploy'
  | 'redeploy'
  | 'rollback'
  | 'enable'
  | 'disable'
  /** Requested by a person. */
  | 'restart'
  /** An instance that crashed or did not survive a restart of the control plane is started again. */
  | 'recover'
  | 'wake'
  | 'sleep'
  | 'change'
  | 'backup'
  | 'restore'
  | 'move'
  | 'delete'

/** `stopped`: a restore or a move has stopped the project. `discarding`: a deployment is over, and its instances are being stopped. */
export type OperationPhase = 'waiting' | 'running' | 'stopped' | 'discarding' | 'cancelling' | 'undoing'

/** One operation on a project that is under way; `projects/operations` owns it. */
export interface ProjectOperationsTable {
  id: string
  /** Without a reference: a restore may bring a deleted project back. */
  projectId: string
  /** Its slug; null: the whole project. */
  environment: string | null
  kind: OperationKind
  phase: OperationPhase
  /** The deployment, run, restore or transfer that is the operation. */
  subjectId: string | null
  startedAt: Millis
  /** Lease end of an operation that a process holds. null: it ends with its subject. */
  heldUntil: Millis | null
}

export interface ProjectsTables {
  projectOperations: ProjectOperationsTable
  projects: ProjectsTable
  environments: EnvironmentsTable
  metrics: MetricsTable
  envVariables: EnvVariablesTable
  domains: DomainsTable
  routeRules: RouteRulesTable
  uploadSessions: UploadSessionsTable
}

export type ProjectRow = Selectable<ProjectsTable>
export type ProjectOperationRow = Selectable<ProjectOperationsTable>
export type EnvironmentRow = Selectable<EnvironmentsTable>
export type EnvVariableRow = Selectable<EnvVariablesTable>
export type DomainRow = Selectable<DomainsTable>
export type RouteRuleRow = Selectable<RouteRulesTable>
export type UploadSessionRow = Selectable<UploadSessionsTable>
