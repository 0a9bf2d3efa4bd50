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

/** Settings that a move imported and that this instance cannot apply. */
export interface CarriedParts {
  /** Edge rules, as create bodies, on a cloud, which does not run them. */
  rules: CreateRule[]
  /** Grants of people who are not members here. */
  grants: { email: string; level: Level }[]
  /** The upload that replaces a folder of the instance the project came from. */
  folderUploadId: string | null
}

/** Values of a project's fields, as detected by a scan of its source. */
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
  /** Location of the project; changed only by `projects/lifecycle/presence.ts`. */
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
  /** The project runs this image and builds nothing; its other sources are ignored. */
  image: string | null
  port: number
  /** True if a user set the port. If not, the port detected in the source is used. */
  portChosen: Generated<0 | 1>
  healthCheck: JsonText<HealthCheck> | null
  volumes: JsonText<Volume[]>
  services: JsonText<Service[]>
  /** The services that have their own address, if a user chose them. */
  serviceRoutes: JsonText<ServiceRoutes> | null
  resources: JsonText<Pick<Resources, 'production' | 'build'>>
  sleepMode: 'auto_sleep' | 'always_on'
  autoDeploy: Flag
  previews: Flag
  previewsMaximum: Generated<number>
  previewsMaxAgeDays: number | null
  /** Set by a user with `project:admin`; by default production's variables never reach a preview. */
  previewsUseProduction: ColumnType<0 | 1, boolean | 0 | 1 | undefined, boolean | 0 | 1>
  rollbackWindow: number
  webhookDomain: string | null
  serverId: string | null
  /** Incremented on each change of production's variables. */
  envVersion: Generated<number>
  /** Imported settings that are not in effect here; they are exported again when the project moves on. */
  carried: JsonText<CarriedParts> | null
  /** Field values taken from a scan, by field. If a field has another value, a user chose it. */
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
   * The upload of its newest deployment request. Production's upload is stored in the project, unless the project has another
   * source.
   */
  uploadSessionId: string | null
  /** The number of the pull request that created it. */
  pullRequest: number | null
  /** The pull request comes from another repository: production's variables never reach it. */
  fromFork: ColumnType<0 | 1, boolean | 0 | 1 | undefined, boolean | 0 | 1>
  /** Set when its deletion has begun: from then on it is neither deployed nor changed. */
  deletingSince: Millis | null
  createdAt: Millis
}

export interface EnvVariablesTable {
  projectId: string
  /** The environment's slug. */
  environment: string
  key: string
  /** Always encrypted; `isSecret` only decides whether a read may show it. */
  value: string
  isSecret: Flag
  updatedAt: Millis
}

/** A host name that an organisation claims. Several may claim the same name; at most one of them has proven it. */
export interface DomainsTable {
  id: string
  projectId: string
  organizationId: string
  hostname: string
  isPrimary: Flag
  /** Changed only by `projects/domains/domain-tls.ts`. */
  tls: TlsState
  state: 'synced' | 'pending' | 'error'
  reason: string | null
  /** Content of the TXT record that proves the claim. */
  proofToken: string
  provenAt: Millis | null
  /** null: no further checks, because the domain is proven and points to this instance. */
  nextCheckAt: Millis | null
  /** Whether it resolved to this instance at the last check; null: unknown. */
  pointsHere: Flag | null
  /** The public addresses that it resolved to then, separated by commas. */
  resolvesTo: string | null
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
  /** The project it is for; null: a new project, or any. */
  projectId: string | null
  hints: JsonText
  /** `open` until a valid tarball has been received completely. */
  status: 'open' | 'received'
  /** Declared when the session was opened; the received file must match. */
  declaredBytes: number | null
  declaredSha256: string | null
  /** The session in the linked cloud that the files were passed on to. */
  cloudSessionId: string | null
  /** The files are uploaded to the object store, and downloaded from there at the first use. */
  inStore: ColumnType<0 | 1, boolean | 0 | 1 | undefined, boolean | 0 | 1>
  /** The newest scan of the files. */
  scan: ColumnType<string | null, string | null | undefined, string>
  sizeBytes: number | null
  files: number | null
  expiresAt: Millis
  createdAt: Millis
}

/**
 * Requests and resource usage of an environment in a time span, as measured by one counter. A counter overwrites its own rows; rows
 * of several counters for one span are added up.
 */
export interface MetricsTable {
  environmentId: string
  /** A minute, or half an hour for older rows. */
  spanSeconds: number
  at: Millis
  counter: string
  requests: number
  errors4xx: number
  errors5xx: number
  bytesOut: number
  /** Output of `packLatency`; null if there were no requests. */
  latency: JsonText<number[]> | null
  /** CPU time of all workloads, measured during `observedMs`. */
  cpuMs: number
  observedMs: number
  /** Peak memory. */
  memoryKb: number
  /** How often a service exited by itself. */
  restarts: number
}

export type OperationKind =
  | 'deploy'
  | 'redeploy'
  | 'rollback'
  | 'enable'
  | 'disable'
  /** Requested by a user. */
  | 'restart'
  /** Restarts an instance that crashed or did not survive a restart of the control plane. */
  | 'recover'
  | 'wake'
  | 'sleep'
  | 'change'
  | 'backup'
  /** A run of a scheduled task. */
  | 'task'
  | 'restore'
  | 'move'
  | 'delete'

/**
 * `stopped`: a restore or a move has stopped the project. `discarding`: the deployment ended, and its instances are being stopped.
 */
export type OperationPhase = 'waiting' | 'running' | 'stopped' | 'discarding' | 'cancelling' | 'undoing'

/** A running operation on a project; owned by `projects/operations`. */
export interface ProjectOperationsTable {
  id: string
  /** No foreign key: a restore may bring a deleted project back. */
  projectId: string
  /** Slug of the environment; null: the whole project. */
  environment: string | null
  kind: OperationKind
  phase: OperationPhase
  /** The deployment, backup run, restore or transfer that the operation performs. */
  subjectId: string | null
  startedAt: Millis
  /** End of the lease of an operation that a process holds. null: the operation ends with its subject. */
  heldUntil: Millis | null
}

/** The template that a project was created from, and what the project gives to linked ones. */
export interface ProjectTemplatesTable {
  projectId: string
  templateId: string
  /** Version of the software in the template at that time. */
  version: string
  /** The service that linked projects connect to, and its port; null: the project cannot be linked. */
  service: string | null
  port: number | null
  /** Variables of linked projects: values name the variables of the service, its host and its port. */
  linkVariables: JsonText<Record<string, string>>
  createdAt: Millis
}

/** A link: an environment of a project gets variables of a service, which is another project of the organisation. */
export interface ProjectLinksTable {
  id: string
  projectId: string
  /** Slug of the environment that gets the variables. */
  environment: string
  serviceProjectId: string
  /** Text in front of the names of the variables. */
  prefix: string | null
  /** Host name of the service on the link's network. It stays the same if the service is renamed. */
  host: string
  createdBy: string | null
  createdAt: Millis
}

export interface ProjectsTables {
  projectLinks: ProjectLinksTable
  projectTemplates: ProjectTemplatesTable
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
export type LinkRow = Selectable<ProjectLinksTable>
export type ProjectTemplateRow = Selectable<ProjectTemplatesTable>
export type ProjectOperationRow = Selectable<ProjectOperationsTable>
export type EnvironmentRow = Selectable<EnvironmentsTable>
export type EnvVariableRow = Selectable<EnvVariablesTable>
export type DomainRow = Selectable<DomainsTable>
export type RouteRuleRow = Selectable<RouteRulesTable>
export type UploadSessionRow = Selectable<UploadSessionsTable>
