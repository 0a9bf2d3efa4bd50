import type { DeploymentStatus, EnvironmentState, ServiceStatus } from '@berth/contract'
import type { Generated, Selectable } from 'kysely'
import type { Flag, JsonText, Millis } from '../columns.ts'

export interface DeploymentsTable {
  id: string
  projectId: string
  /** The organisation of the project; null in a row of an earlier version, until the worker starts. */
  organizationId: Generated<string | null>
  /** The environment's slug. */
  environment: string
  /** Counted from 1 within the project. */
  number: number
  trigger: 'manual' | 'push' | 'pull_request' | 'rollback' | 'redeploy' | 'restore' | 'transfer'
  status: DeploymentStatus
  /** Source at the time of the request: git remote and branch, folder, or upload session. */
  source: JsonText
  /** The upload it is built from, while it is running or in the rollback window: the upload's files are kept. */
  uploadSessionId: string | null
  /** The project's config at that time; a rollback uses this one, not the current one. */
  config: JsonText
  /** Hashes of that config and of its resources, see `projects/records/pending-changes.ts`; null: not recorded. */
  configHash: string | null
  resourcesHash: string | null
  /** Hash of the project source it was built from; null: not recorded. */
  sourceHash: string | null
  /** The version of production's variables that it received; null: not recorded, or another environment. */
  envVersion: number | null
  /** The variables at that time, sealed as one JSON object. */
  env: string | null
  /** Keys of the secret variables; null: not recorded. */
  envSecretKeys: JsonText<string[]> | null
  /** The build plan, once planned. */
  plan: JsonText | null
  /** Artifacts by service ('' for the project itself), once built. */
  artifacts: JsonText | null
  /** A list of texts; null: none. */
  warnings: JsonText<string[]> | null
  /** The server that builds and runs it; null is this machine. Its artifacts are on that server. */
  serverId: string | null
  sizeBytes: number | null
  commitSha: string | null
  commitMessage: string | null
  commitAuthor: string | null
  branch: string | null
  steps: JsonText
  url: string | null
  requestsTotal: number | null
  requestsFailed: number | null
  errorCode: string | null
  errorMessage: string | null
  errorLogTail: JsonText | null
  /** The deployment whose artifacts a rollback or redeploy reuses. */
  basedOn: string | null
  force: Flag
  /** Deduplicates requests that may arrive twice: `push:<commit>`. */
  requestKey: string | null
  createdBy: string | null
  createdAt: Millis
  startedAt: Millis | null
  finishedAt: Millis | null
  /** Set for history that a move imported: it was built on another instance. */
  importedAt: Millis | null
}

export interface ServiceRoute {
  service: string
  /** The first label of its host name. */
  label: string
}

/** The status of a service, as its environment stores it. */
export interface ServiceState extends Omit<ServiceStatus, 'status'> {
  /** Status while its environment is live. */
  status: Exclude<ServiceStatus['status'], 'sleeping' | 'stopped'>
  /** Whether it is restarted when it exits; `on-failure` only after a failure. */
  policy: 'no' | 'always' | 'on-failure'
  /** Times of the exits in the last ten minutes that are not completions. */
  ends: Millis[]
  /** The instance that exited last, and how many restarts the runtime had counted for it. */
  counted: { instanceId: string; restarts: number } | null
}

/** The current state of an environment; one row per environment that was ever deployed. */
export interface LiveEnvironmentsTable {
  projectId: string
  environment: string
  /** The deployment that serves, or that served before the environment went to sleep. */
  deploymentId: string | null
  /** Changed only by `deployments/live-environments.ts`. */
  state: EnvironmentState
  /** The folder the edge serves, for a static project. */
  staticFolder: string | null
  /** Services with their own address, whose host name is prefixed to the environment's; null: none. */
  serviceRoutes: JsonText<ServiceRoute[]> | null
  /**
   * State of every running service, '' being the project itself; null: not recorded yet. Written by
   * `deployments/health/service-states.ts`.
   */
  services: JsonText<ServiceState[]> | null
  health: 'healthy' | 'unhealthy' | 'unknown'
  healthReason: string | null
  lastRequestAt: Millis | null
  changedAt: Millis
}

/** A workload that the runtime was told to run: written before the call, so that a crash leaves no unknown workload. */
export interface InstancesTable {
  id: string
  deploymentId: string
  projectId: string
  environment: string
  service: string
  /** Number of the replica within its service, counted from 1. */
  replica: Generated<number>
  /** The edge sends requests to this one. */
  exposed: Flag
  runtime: 'process' | 'docker'
  /** The server it runs on; null is a machine of the control plane. */
  serverId: string | null
  /** The machine it runs on; null on a server. */
  machineId: Generated<string | null>
  /** `wanted` until the runtime has started it. `retired`: it must be stopped, and its row is deleted afterwards. */
  state: 'wanted' | 'running' | 'retired'
  host: string | null
  port: number | null
  /** The only owner that may listen at the address; null where it cannot be determined. */
  listener: JsonText | null
  /** Output up to this position is in the log store. */
  logPosition: string | null
  /** The workload exited successfully before its version was live, and is not restarted. */
  completed: Flag
  createdAt: Millis
}

/** A volume's identity: stored, never derived, and deleted only with the explicit flag. */
export interface VolumesTable {
  id: string
  projectId: string
  environment: string
  service: string
  name: string
  runtime: 'process' | 'docker'
  /** The server that stores its data; null is a machine of the control plane. */
  serverId: string | null
  /** The machine that stores its data; null on a server. */
  machineId: Generated<string | null>
  /** Set once the data was created. It is never created again: a start without its data fails. */
  hasData: Generated<0 | 1>
  /** Existing data on the server that the volume adopted: a Docker volume or a path. */
  adopted: JsonText<{ volume: string } | { path: string }> | null
  /** The backup run that a restore to a copy wrote into it; null for the project's own volumes. */
  restoredFrom: string | null
  createdAt: Millis
}

/** The next time at which a project's image is compared with its registry. */
export interface ImageChecksTable {
  projectId: string
  nextAt: Millis
  /** The newest digest that was deployed automatically; it is not tried again. */
  digest: string | null
}

/** A secret URL that deploys a project when it is called. */
export interface DeployHooksTable {
  id: string
  projectId: string
  name: string
  branch: string | null
  environment: string
  tokenHash: string
  lastUsedAt: Millis | null
  createdAt: Millis
}

export interface DeploymentsTables {
  deployments: DeploymentsTable
  liveEnvironments: LiveEnvironmentsTable
  instances: InstancesTable
  volumes: VolumesTable
  imageChecks: ImageChecksTable
  deployHooks: DeployHooksTable
}

export type DeploymentRow = Selectable<DeploymentsTable>
export type LiveEnvironmentRow = Selectable<LiveEnvironmentsTable>
export type InstanceRow = Selectable<InstancesTable>
export type VolumeRow = Selectable<VolumesTable>
export type ImageCheckRow = Selectable<ImageChecksTable>
export type DeployHookRow = Selectable<DeployHooksTable>
