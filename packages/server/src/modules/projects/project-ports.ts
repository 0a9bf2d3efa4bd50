import type { Deployment, DeploymentPlan, DeploymentStatus, Project, ProjectRoute, Role, ServiceStatus } from '@berth/contract'
import type { GitRemote } from '../../drivers/git/remote.ts'
import type { Caller } from '../../http/handler.ts'
import type { Awaitable } from '../../platform/awaitable.ts'
import type { Db } from '../../platform/db/schema.ts'
import type { ServiceRoute } from '../../platform/db/tables/deployments.ts'
import type { DomainRow, ProjectRow } from '../../platform/db/tables/projects.ts'
import type { Secret } from '../../platform/secrets/secret.ts'
import type { TransactionContext } from '../../platform/transaction.ts'
import type { DeployedSettings } from './deployed-settings.ts'
import type { Source } from './deployment-source.ts'
import type { ProjectPart } from './project-part.ts'

/**
 * Interfaces that modules above this one implement. Each is optional; without it the answer is that of an instance without the
 * module: no deployment, no running workload, no route in the edge, no cloud, no server, no git host.
 */
export interface ProjectPorts {
  deployments?: DeploymentReader
  running?: RunningProjects
  power?: ProjectPower
  edge?: EdgeRoutes
  cloud?: CloudProjects
  servers?: ServerDirectory
  gitHost?: GitHostConnection
  pullRequests?: PullRequestSearch
  secrets?: SecretKeeper
  reserved?: ReservedReader
  /** Parts of a project, in the order of their removal. */
  parts?: readonly ProjectPart[]
}

/** The facts of a deployment that a project's record shows. */
export interface DeploymentFacts {
  id: string
  number: number
  status: DeploymentStatus
  /** Error message of a failed deployment. */
  error: string | null
  commit: string | null
  sizeBytes: number | null
  /** ISO 8601. */
  builtAt: string | null
  settings: DeployedSettings
}

export interface DeploymentSummary {
  newest: DeploymentFacts
  /** The deployment that serves production; the newest one, or an earlier one. */
  live: DeploymentFacts | null
}

/** The deployment that serves: its source and its plan. */
export interface LiveVersion {
  deploymentId: string
  source: Source
  commit: string | null
  /** The running image; of several services, that of the exposed one. */
  image: string | null
  plan: DeploymentPlan | null
}

export interface DeploymentQuery {
  environment?: string
  status?: DeploymentStatus
  limit?: number
  cursor?: string
}

/** Reads deployments; implemented by `deployments/summary/summary.ts`. */
export interface DeploymentReader {
  /** Summaries of production, for a page of projects in one query; a project that was never deployed is left out. */
  summaries(projectIds: readonly string[]): Awaitable<ReadonlyMap<string, DeploymentSummary>>
  list(projectId: string, query: DeploymentQuery): Awaitable<{ data: Deployment[]; nextCursor: string | null }>
  /** The newest deployment of any environment. */
  newest(projectId: string): Promise<{ id: string; status: DeploymentStatus } | null>
  /** The deployment that serves production, else undefined. */
  liveVersion(projectId: string): Promise<LiveVersion | undefined>
  /** The uploads, of those given, that a deployment under way or in the rollback window uses. */
  listUsedUploads(db: Db, sessionIds: readonly string[], options?: { exceptProject?: string }): Promise<ReadonlySet<string>>
  /** The exposed service of that deployment, else of production's; undefined where it has no services. */
  exposedService(projectId: string, deploymentId?: string): Promise<string | undefined>
}

export interface RunningState {
  state: 'running' | 'sleeping' | 'unhealthy' | 'stopped'
  reason: string | null
  /** ISO 8601. */
  startedAt: string | null
  instances: number
  /** Status of each service; a service without a name is the project itself. Empty: not recorded. */
  services?: readonly ServiceStatus[]
  /** Services with a host name of their own, and the label in front of the project's host name. */
  serviceRoutes?: readonly ServiceRoute[]
}

/** Reads the running workload; implemented by `deployments/summary/summary.ts`. */
export interface RunningProjects {
  /** Runtime kind (`docker` or `process`) of a server, or of the worker's machine (null). Null while the worker has not started. */
  driverFor(serverId: string | null): Awaitable<string | null>
  /** States of production; a project that was never started is left out. */
  states(projectIds: readonly string[]): Awaitable<ReadonlyMap<string, RunningState>>
}

/**
 * Resources reserved by deployments that are live or in progress; implemented by `deployments/plan/reserved-resources.ts`. Both
 * functions read with the given connection, which may be a transaction.
 */
export interface ReservedReader {
  planned(
    db: Db,
    organizationId: string,
  ): Promise<readonly { projectId: string; environment: string; cpuCores: number; memoryMb: number }[]>
  /** Deployments that are being built or switched to. */
  building(db: Db, organizationId: string): Promise<number>
}

/** Stops and starts a project; implemented by `deployments/power/power.ts`. */
export interface ProjectPower {
  /**
   * Resolves when no instance of the project runs and no route leads to it. May be called again, also when nothing runs. With
   * `cancelWith`, deployments under way are cancelled, and that is their error message.
   */
  takeOffline(projectId: string, cancelWith?: string): Promise<void>
  /** Starts the last live deployment and routes to it; does nothing where the project was never deployed. May be called again. */
  bringOnline(projectId: string): Promise<void>
  /** Called within a transaction: a sleeping project is woken once it is committed. */
  wake(projectId: string, transaction: TransactionContext): Promise<void>
}

export type RouteStatus = Pick<ProjectRoute, 'tls' | 'state' | 'reason'>

/** Reads the edge's routes; `routing/index.ts`. */
export interface EdgeRoutes {
  /**
   * Status of a host name in the edge. `domain` is its row, absent for a free host name; undefined: the edge does not know it
   * yet.
   */
  routeStatus(hostname: string, domain?: DomainRow): RouteStatus | undefined
  /** The one-label alias of a host name, if a certificate covers it: the address to show. */
  aliasOf(hostname: string): string | null
  /** A frozen object that changes whenever `routeStatus` or `ports` may return something else for the same row. */
  revision(): object
  /** Sends the project's routes to the edge again; resolves when the edge has accepted or refused them. */
  sync(projectId: string): Promise<void>
  /** Ports that the edge listens on, known once it has started. */
  ports(): { http: number; https: number | null }
}

export interface CloudProjects {
  /** Lists the projects in the cloud. An unreachable cloud is reported as such with an empty list, not as an error. */
  list(
    caller: Pick<Caller, 'organizationId' | 'projectIds'>,
  ): Promise<{ linked: boolean; reachable: boolean; projects: Project[] }>
}

export interface ServerDirectory {
  has(organizationId: string, serverId: string): Promise<boolean>
}

/** Redacts the secrets of projects from logs. */
export interface SecretKeeper {
  /** The project's secrets changed: resolves when the new ones are redacted in this process. */
  refresh(projectId: string): Promise<void>
}

/** A repository as a project names it; `url` is the URL that git would use. */
export interface RepositoryRef {
  provider: string | null
  owner: string | null
  repo: string | null
  url?: string | null
}

/** Finds pull requests that were opened before the project had previews. */
export interface PullRequestSearch {
  findOpen(project: ProjectRow, transaction: Pick<TransactionContext, 'enqueue'>): Promise<void>
}

/** Git host functions for a project's repository; empty for a host that the module does not know. */
export interface GitHostConnection {
  webhookOf(
    organizationId: string,
    repository: RepositoryRef,
  ): Promise<{ active: boolean; url: string | null; lastDeliveryAt: string | null; problem: string | null }>
  /** Credential for reading that repository alone; undefined where there is none: git then connects without one. */
  credentialFor(
    organizationId: string,
    repository: RepositoryRef,
    abort?: AbortSignal,
  ): Promise<GitRemote['credential'] | undefined>
  /** Reports that git was refused with this token: it is not issued again, and a login that the host has revoked is disabled. */
  credentialRefused(organizationId: string, repository: RepositoryRef, token: Secret): Promise<void>
  /** Creates or repairs the organisation's webhook on the repository, unless an app already reports its pushes. */
  ensureWebhook(organizationId: string, repository: RepositoryRef): Promise<void>
  /**
   * Creates the organisation's webhook on the repository, or finds the existing one; rejects with a message where it is not
   * permitted.
   */
  registerWebhook(organizationId: string, repository: RepositoryRef): Promise<unknown>
  /**
   * Removes the organisation's webhook from the repository, if there is one; rejects with a message where it is not permitted.
   */
  removeWebhook(organizationId: string, repository: RepositoryRef): Promise<void>
  /** Predicate of the repositories that a user of that role may use: `memberRepositories` lists those open to members. */
  visibleTo(viewer: { organizationId: string; role: Role }): Promise<(owner: string, repo: string) => boolean>
  /** Protected branches of the repository; the empty set when the host is unreachable. */
  protectedBranches(organizationId: string, repository: RepositoryRef): Promise<ReadonlySet<string>>
}
