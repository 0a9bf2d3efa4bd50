import type { Git } from '../../drivers/git/git.ts'
import type { GitRemote } from '../../drivers/git/remote.ts'
import type { Probe } from '../../drivers/probe/probe.ts'
import type { ImageRegistry } from '../../drivers/registry/image-registry.ts'
import type { RegistryLogin } from '../../drivers/registry/registry-login.ts'
import type { Runtimes } from '../../drivers/runtime/runtimes.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Database } from '../../platform/database.ts'
import type { Db } from '../../platform/db/schema.ts'
import type { DeploymentRow } from '../../platform/db/tables/deployments.ts'
import type { EnvironmentRow, ProjectRow } from '../../platform/db/tables/projects.ts'
import type { KeyedMutex } from '../../platform/keyed-mutex.ts'
import type { Log } from '../../platform/log.ts'
import type { LogStore } from '../../platform/log-store/log-store.ts'
import type { Scrubber } from '../../platform/secrets/scrubber.ts'
import type { SecretBox } from '../../platform/secrets/secret-box.ts'
import type { TransactionContext } from '../../platform/transaction.ts'
import type { DeployedLinks, HostUrls, Metered, OpenedEnv } from '../projects/index.ts'
import type { ProjectScrubbers } from './project-scrubbers.ts'
import type { WatchIntervals } from './watch-intervals.ts'

/**
 * The edge operations that a deployment uses. The edge computes its routing table from the database: to switch, write and then
 * sync.
 */
export interface EdgeSwitch {
  /** Resolves when the routes in the database are active, except for the hosts in `refused`; rejects on timeout. */
  sync(): Promise<{ refused: ReadonlyMap<string, string> }>
  drain(instanceId: string, timeoutMs: number, abort: AbortSignal): Promise<{ inFlight: number }>
  /** Request counts of a project since the edge started. */
  counters(projectId: string): Promise<{ total: number; failed: number }>
  /** Milliseconds since 1970 of each project's last request. */
  activity(): Promise<Record<string, number>>
  ports(): { http: number; https: number | null }
}

export interface DeploymentsSettings {
  maxBuilds: number
  /** A build without output for this long is stopped. */
  buildSilentSeconds: number
  baseDomain: string
  sleepAfterSeconds: number
  /** Interval between checks of an image tag in its registry. */
  imageCheckSeconds: number
  /** A deployment waits this long for an unreachable server before it fails. */
  serverWaitSeconds: number
  hostUrls(): HostUrls
  /** A folder source must be below one of these roots; inside the data folder only the folders for it are allowed. */
  projectRoots: readonly string[]
  dataDir: string
}

/** Runs before a deployment starts anything, and may delay it; rejects with a message where the deployment must stop. */
export type BeforeStart = (
  deployment: { projectId: string; environment: string; startedAt: number },
  report: (line: string) => void,
  abort: AbortSignal,
) => Promise<void>

/** Containers that ran on a server before a project adopted them. Each call is idempotent. */
export interface OldContainers {
  /** Stops the old containers that use a volume of the unit, before the unit starts. */
  stopForTakeover(deployment: DeploymentRow, service: string, report: (line: string) => void, abort: AbortSignal): Promise<void>
  /** Stops the remaining old containers once the project serves. */
  stopOldContainers(deployment: DeploymentRow, report: (line: string) => void, abort: AbortSignal): Promise<void>
  /** Starts the stopped old containers again, because the first deployment failed. */
  rollbackTakeover(target: Pick<DeploymentRow, 'projectId' | 'environment'>, abort: AbortSignal): Promise<void>
  /** Whether the service was adopted from a container on the project's server. */
  isAdopted(projectId: string, service: string): Promise<boolean>
  /** Projects whose old containers are not yet stopped for good, with their servers. */
  listUnsettled(): Promise<{ serverId: string; projectId: string }[]>
}

export interface DeploymentsDeps {
  database: Database
  clock: Clock
  log: Log
  secretBox: SecretBox
  /** The scrubber of the instance's own log. */
  scrubber: Scrubber
  /** Scrubbers per project, for all output written about a project. */
  scrubbers: ProjectScrubbers
  runtimes: Runtimes
  /** The machine that stores local instances and volumes; null: this process runs no projects. */
  machineId: string | null
  git: Git
  probe: Probe
  edge: EdgeSwitch
  logStore: LogStore
  /** Working folders of deployments in progress; may be emptied when there are none. */
  workFolder: string
  projects: {
    /** The projects and environments with metrics of their own. */
    metered(): Promise<Metered>
    quotas: {
      limitsOf(db: Db, organizationId: string): Promise<{ builds: number | null }>
      /** Throws `quota_exceeded` when the organisation is over its quota. */
      refuseOver(transaction: Pick<TransactionContext, 'db' | 'lock'>, organizationId: string): Promise<void>
    }
    /** Every environment of the project, deployed or not. */
    environmentsOf(projectId: string): Promise<readonly { slug: string }[]>
    openEnv(projectId: string, environment: string, options?: { fromFork?: boolean }): Promise<OpenedEnv>
    /** The same with link variables added and references replaced; throws `UnresolvedVariable`. */
    openResolvedEnv(projectId: string, environment: string, options?: { fromFork?: boolean }): Promise<OpenedEnv>
    links: {
      ofDeployment(deployment: { projectId: string; environment: string; fromFork: boolean }): Promise<DeployedLinks>
      /** Returns the ids of links that were not deleted. */
      existing(ids: readonly string[]): Promise<ReadonlySet<string>>
    }
    openSecrets(projectId: string): Promise<string[]>
    /** URL of an environment's own host name; null for a worker. */
    environmentUrl(project: ProjectRow, environment: string): string | null
    /** The production URL that works now; null for a worker. */
    addressOf(project: ProjectRow): Promise<string | null>
    /** The git remote with its credential. */
    remoteOf(project: ProjectRow, url: string, abort?: AbortSignal): Promise<GitRemote>
    /** Calls `request` with the remote; if git rejects the credential, calls it once more with a new one. */
    readRemote<Result>(
      project: ProjectRow,
      request: (remote: GitRemote) => Promise<Result>,
      at: { url: string; abort: AbortSignal },
    ): Promise<Result>
    /** Makes the upload the environment's source from now on: a deployment with it was requested. */
    setUploadSource(
      transaction: TransactionContext,
      sessionId: string,
      at: { project: ProjectRow; environment: EnvironmentRow },
    ): Promise<void>
    /** Ends the use of an upload as the environment's source: a deployment by branch or commit was requested. */
    clearUploadSource(transaction: TransactionContext, environment: EnvironmentRow): Promise<void>
    /** Throws 404 when the upload has expired or is not a project upload. */
    claimUpload(transaction: TransactionContext, sessionId: string, project: ProjectRow): Promise<void>
    /** Call after the deployment row no longer references the upload. */
    releaseUpload(transaction: TransactionContext, sessionId: string): Promise<void>
    /** Downloads an upload from the object store to this machine. */
    fetchUpload(sessionId: string, organizationId: string): Promise<void>
    /** Path of the tarball of an upload session. */
    uploadFile(sessionId: string): string
  }
  /** Registry credentials of an organisation. */
  registries: {
    loginsOf(organizationId: string): Promise<readonly RegistryLogin[]>
    loginsOfEach(organizationIds: readonly string[]): Promise<ReadonlyMap<string, readonly RegistryLogin[]>>
  }
  imageRegistry: ImageRegistry
  publicUrl(): string
  /** Called for each new and each ended deployment, in the same transaction. */
  onStatusChange?(transaction: TransactionContext, deployment: DeploymentRow): Promise<void>
  settings: DeploymentsSettings
  /** Intervals of the checks of live environments; tests shorten them. */
  watchIntervals: WatchIntervals
  /** Set while the instance is assembled, once the modules above exist. */
  guards: {
    beforeStart?: BeforeStart
    /** Ids of instances that run scheduled tasks. They have no row here, and are not leftovers. */
    taskInstances?(): Promise<readonly string[]>
  }
  /** Set while the instance is assembled; absent where adoption is not supported. */
  oldContainers: { containers?: OldContainers }
  /** Serializes starts and stops of an environment. */
  locks: KeyedMutex
}

export const nowOf = ({ clock }: Pick<DeploymentsDeps, 'clock'>): number => clock.now().getTime()
