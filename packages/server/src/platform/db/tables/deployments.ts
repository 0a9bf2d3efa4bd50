import type { DeploymentStatus, EnvironmentState, ServiceStatus } from '@berth/contract'
import type { Generated, Selectable } from 'kysely'
import type { Flag, JsonText, Millis } from '../columns.ts'

export interface DeploymentsTable {
  id: string
  projectId: string
  /** The environment's slug. */
  environment: string
  /** Counts from 1 within the project. */
  number: number
  trigger: 'manual' | 'push' | 'pull_request' | 'rollback' | 'redeploy' | 'restore' | 'transfer'
  status: DeploymentStatus
  /** What it is made from: git remote and branch, folder, or upload session, as they were when it was asked for. */
  source: JsonText
  /** The upload that it is made of, for as long as it is under way or in the rollback window: its files are kept. */
  uploadSessionId: string | null
  /** The project's config at that time; rollback uses this one, not today's. */
  config: JsonText
  /** Hashes of that config and of its resources, see `projects/lifecycle/pending-changes.ts`; null: not recorded. */
  configHash: string | null
  resourcesHash: string | null
  /** Hash of the project's source that it was made of; null: not recorded. */
  sourceHash: string | null
  /** The version of production's variables that it was given; null: not recorded, or another environment. */
  envVersion: number | null
  /** The variables at that time, sealed as one JSON object. */
  env: string | null
  /** Which of them were secret; null: it was not noted then. */
  envSecretKeys: JsonText<string[]> | null
  /** How it is built, once planned. */
  plan: JsonText | null
  /** By service ('' for the project itself), once built. */
  artifacts: JsonText | null
  /** A list of texts; null: none. */
  warnings: JsonText<string[]> | null
  /** The server that builds and runs it; null is this machine. What it built is there. */
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
  /** The deployment whose artifacts a rollback or redeploy takes over. */
  basedOn: string | null
  force: Flag
  /** What it was asked for by, where the same may be asked for twice: `push:<commit>`. */
  requestKey: string | null
  createdBy: string | null
  createdAt: Millis
  startedAt: Millis | null
  finishedAt: Millis | null
  /** Set for history that a move brought along: it was built on another instance. */
  importedAt: Millis | null
}

export interface ServiceRoute {
  service: string
  /** The first part of its host name. */
  label: string
}

/** How a service is doing, as its environment keeps it. */
export interface ServiceState extends Omit<ServiceStatus, 'status'> {
  /** As it is while its environment is live. */
  status: Exclude<ServiceStatus['status'], 'sleeping' | 'stopped'>
  /** Whether it is started again when it ends; `on-failure` only after a failure. */
  policy: 'no' | 'always' | 'on-failure'
  /** The last ends within ten minutes that are no completion, milliseconds since 1970. */
  ends: Millis[]
  /** The instance that ended last, and how many restarts the runtime had counted of it. */
  counted: { instanceId: string; restarts: number } | null
}

/** What an environment is doing now; one row an environment that was ever deployed. */
export interface LiveEnvironmentsTable {
  projectId: string
  environment: string
  /** The one that serves, or slept last. */
  deploymentId: string | null
  /** Moved by `deployments/live-environments.ts` alone. */
  state: EnvironmentState
  /** Of a static project: what the edge serves from disk. */
  staticFolder: string | null
  /** Services that have an address of their own, with what stands in front of the environment's; null: none. */
  serviceRoutes: JsonText<ServiceRoute[]> | null
  /** Of everything that runs of it, '' being the project itself; null: not recorded yet. Written by `deployments/service-states.ts`. */
  services: JsonText<ServiceState[]> | null
  health: 'healthy' | 'unhealthy' | 'unknown'
  healthReason: string | null
  lastRequestAt: Millis | null
  changedAt: Millis
}

/** A thing that was asked of the runtime: written before the call, so that a crash leaves nothing unknown. */
export interface ReplicasTable {
  id: string
  deploymentId: string
  projectId: string
  environment: string
  service: string
  /** Of several of one service, counted from 1. */
  replica: Generated<number>
  /** Requests go to this one. */
  exposed: Flag
  runtime: 'process' | 'docker'
  /** The server it runs on; null is this machine. */
  serverId: string | null
  /** `wanted` until it runs; `retired` is to be stopped, and the row goes when that is done. */
  state: 'wanted' | 'running' | 'retired'
  host: string | null
  port: number | null
  /** Who alone may listen there; null where it cannot be known. */
  listener: JsonText | null
  /** Output up to here is in the log store. */
  logPosition: string | null
  /** It ended well before its version was live, and is not started again. */
  completed: Flag
  createdAt: Millis
}

/** A volume's identity: stored, never derived, and never deleted without the explicit flag. */
export interface VolumesTable {
  id: string
  projectId: string
  environment: string
  service: string
  name: string
  runtime: 'process' | 'docker'
  /** The server that has its bytes; null is this machine. */
  serverId: string | null
  /** Of bytes that were on the server before us: what they are there. */
  adopted: JsonText<{ volume: string } | { path: string }> | null
  /** The backup run whose data a restore to a copy wrote into it; null for the project's own volumes. */
  restoredFrom: string | null
  createdAt: Millis
}

/** When the image of a project is compared with its registry next. */
export interface ImageChecksTable {
  projectId: string
  nextAt: Millis
  /** The newest digest that a deployment was made for by itself; it is not tried again. */
  digest: string | null
}

/** A secret address that deploys a project when it is called. */
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
  instances: ReplicasTable
  volumes: VolumesTable
  imageChecks: ImageChecksTable
  deployHooks: DeployHooksTable
}

export type DeploymentRow = Selectable<DeploymentsTable>
export type LiveEnvironmentRow = Selectable<LiveEnvironmentsTable>
export type InstanceRow = Selectable<ReplicasTable>
export type VolumeRow = Selectable<VolumesTable>
export type ImageCheckRow = Selectable<ImageChecksTable>
export type DeployHookRow = Selectable<DeployHooksTable>
