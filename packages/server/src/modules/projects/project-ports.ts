import type { Deployment, DeploymentPlan, DeploymentStatus, Project, ProjectRoute, Role, ServiceStatus } from '@berth/contract'
import type { GitRemote } from '../../drivers/git/remote.ts'
import type { Caller } from '../../http/handler.ts'
import type { Awaitable } from '../../platform/awaitable.ts'
import type { Db } from '../../platform/db/schema.ts'
import type { ServiceRoute } from '../../platform/db/tables/deployments.ts'
import type { DomainRow, ProjectRow } from '../../platform/db/tables/projects.ts'
import type { Secret } from '../../platform/secrets/secret.ts'
import type { Bound } from '../../platform/transaction.ts'
import type { DeployedSettings } from './deployed-settings.ts'
import type { Source } from './deployment-source.ts'
import type { ProjectPart } from './project-part.ts'

/**
 * What modules above this one tell it. Each is optional, and without it the answer is the truth of an instance that has
 * no such module: nothing was deployed, nothing runs, no edge has taken a route, there is no cloud, no server and no git host.
 */
export interface ProjectPorts {
  deployments?: DeploymentReader
  running?: RunningProjects
  power?: ProjectPower
  edge?: EdgeRoutes
  cloud?: CloudProjects
  servers?: ServerDirectory
  gitHost?: GitHostConnection
  secrets?: SecretKeeper
  allotted?: AllottedReader
  /** What hangs on a project, in the order in which it is to be removed. */
  parts?: readonly ProjectPart[]
}

/** One deployment, as far as a project's record speaks of it. */
export interface DeploymentFacts {
  id: string
  number: number
  status: DeploymentStatus
  /** Why it failed, in words. */
  error: string | null
  commit: string | null
  sizeBytes: number | null
  /** ISO 8601. */
  builtAt: string | null
  settings: DeployedSettings
}

export interface DeploymentSummary {
  newest: DeploymentFacts
  /** The one that serves; the newest itself, or one before it. */
  live: DeploymentFacts | null
}

/** The deployment that serves: its source and its plan. */
export interface LiveVersion {
  deploymentId: string
  source: Source
  commit: string | null
  /** The image that runs; of several services, that of the one that requests go to. */
  image: string | null
  plan: DeploymentPlan | null
}

export interface DeploymentQuery {
  environment?: string
  status?: DeploymentStatus
  limit?: number
  cursor?: string
}

/** What was deployed; `deployments/summary.ts`. */
export interface DeploymentReader {
  /** Of production, for a page of projects in one look; a project that was never deployed is left out. */
  summaries(projectIds: readonly string[]): Awaitable<ReadonlyMap<string, DeploymentSummary>>
  list(projectId: string, query: DeploymentQuery): Promise<{ data: Deployment[]; nextCursor: string | null }>
  /** The newest one of any environment. */
  newest(projectId: string): Promise<{ id: string; status: DeploymentStatus } | null>
  /** The deployment that serves production, else undefined. */
  liveVersion(projectId: string): Promise<LiveVersion | undefined>
  /** Which of these uploads a deployment is made of that is under way or in the rollback window. */
  keptUploads(db: Db, sessionIds: readonly string[], options?: { exceptProject?: string }): Promise<ReadonlySet<string>>
  /** The service that requests go to in that deployment, else in production's; undefined where it has no services. */
  exposedService(projectId: string, deploymentId?: string): Promise<string | undefined>
}

export interface RunningState {
  state: 'running' | 'sleeping' | 'unhealthy' | 'stopped'
  reason: string | null
  /** ISO 8601. */
  startedAt: string | null
  instances: number
  /** How each service is doing; one without a name is the project itself. Empty: not recorded. */
  services?: readonly ServiceStatus[]
  /** Services that have an address of their own, with what stands in front of the project's. */
  serviceRoutes?: readonly ServiceRoute[]
}

/** What runs; `deployments/summary.ts`. */
export interface RunningProjects {
  /** What runs projects on a server, null being this machine: `docker` or `process`. */
  driverFor(serverId: string | null): string
  /** What of production runs; a project of which nothing was ever started is left out. */
  states(projectIds: readonly string[]): Awaitable<ReadonlyMap<string, RunningState>>
}

/** What is deployed or about to be takes this much at once; `deployments/allotted.ts`. Both read with the connection they are given. */
export interface AllottedReader {
  planned(
    db: Db,
    organizationId: string,
  ): Promise<readonly { projectId: string; environment: string; cpuCores: number; memoryMb: number }[]>
  /** Deployments that are being built or switched to. */
  building(db: Db, organizationId: string): Promise<number>
}

/** Turns a project off and on; `deployments/power.ts`. */
export interface ProjectPower {
  /**
   * Resolves when nothing of the project runs or is routed to any more. May be called again, also when nothing runs. With `cancelWith`,
   * deployments that are under way are cancelled, and that is their error message.
   */
  takeOffline(projectId: string, cancelWith?: string): Promise<void>
  /** Starts what was live last and routes to it; does nothing where nothing was ever deployed. May be called again. */
  bringOnline(projectId: string): Promise<void>
  /** Within a transaction: what sleeps is woken once it is committed. */
  wake(projectId: string, bound: Bound): Promise<void>
}

export type RouteStatus = Pick<ProjectRoute, 'tls' | 'state' | 'reason'>

/** What the edge serves; `routing/index.ts`. */
export interface EdgeRoutes {
  /** How the edge stands to a host name, which has a row unless it is a free one; undefined: it was not told of it yet. */
  routeStatus(hostname: string, domain?: DomainRow): RouteStatus | undefined
  /** Another one, frozen, whenever `standing` and `ports` may say something else than before of the same row. */
  revision(): object
  /** Hands the project's routes to the edge once more; resolves when it has taken or refused them. */
  sync(projectId: string): Promise<void>
  /** Where the edge listens, which is known once it does. */
  ports(): { http: number; https: number | null }
}

export interface TransferOptions {
  /** False: volumes stay behind. */
  withData: boolean
}

export interface CloudProjects {
  /** What lives in the cloud. Never fails because the cloud is away: then it says so and the list is empty. */
  list(
    caller: Pick<Caller, 'organizationId' | 'projectIds'>,
  ): Promise<{ linked: boolean; reachable: boolean; projects: Project[] }>
  /** The project is undefined where it is not here: then it may be in the cloud. */
  transferToCloud(
    projectId: string,
    project: ProjectRow | undefined,
    options: TransferOptions,
    caller: Caller,
  ): Promise<Transferred>
  transferToSelfHosted(
    projectId: string,
    project: ProjectRow | undefined,
    options: TransferOptions,
    caller: Caller,
  ): Promise<Transferred>
}

export interface Transferred {
  projectId: string
  location: 'local' | 'cloud'
  /** Parts of the project that did not come along, or are not in force there. */
  warnings: string[]
}

export interface ServerDirectory {
  has(organizationId: string, serverId: string): Promise<boolean>
}

/** Whoever hides the secrets of projects in what is written of them. */
export interface SecretKeeper {
  /** The project's secrets changed: resolves when the new ones are hidden here. */
  refresh(projectId: string): Promise<void>
}

/** A repository as a project names it; `url` is where git would ask for it. */
export interface RepositoryAt {
  provider: string | null
  owner: string | null
  repo: string | null
  url?: string | null
}

/** What the git host module tells of a project's repository; a project whose host it does not know has nothing there. */
export interface GitHostConnection {
  webhookOf(
    organizationId: string,
    at: RepositoryAt,
  ): Promise<{ active: boolean; url: string | null; lastDeliveryAt: string | null }>
  /** For reading that repository alone; undefined where there is none, and the repository is asked as it is. */
  credentialFor(organizationId: string, at: RepositoryAt, abort?: AbortSignal): Promise<GitRemote['credential'] | undefined>
  /** Git was refused with a token that was given: it is not given again, and a login that the host has revoked is not used any more. */
  credentialRefused(organizationId: string, at: RepositoryAt, token: Secret): Promise<void>
  /** Puts the organisation's hook on the repository or repairs it, unless an app already reports its pushes. */
  ensureWebhook(organizationId: string, at: RepositoryAt): Promise<void>
  /** Puts the organisation's hook on the repository, or finds it there; rejects with words where it may not. */
  registerWebhook(organizationId: string, at: RepositoryAt): Promise<unknown>
  /** Removes the organisation's hook from the repository, where it has one; rejects with words where it may not. */
  removeWebhook(organizationId: string, at: RepositoryAt): Promise<void>
  /** Which repositories a person of that role may use: `memberRepositories` says which are for members. */
  visibleTo(viewer: { organizationId: string; role: Role }): Promise<(owner: string, repo: string) => boolean>
  /** Never fails because the host is away: then it is the empty set. */
  protectedBranches(organizationId: string, at: RepositoryAt): Promise<ReadonlySet<string>>
}
