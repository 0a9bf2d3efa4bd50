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
import type { Bound } from '../../platform/transaction.ts'
import type { HostUrls, OpenedEnv } from '../projects/index.ts'
import type { ProjectScrubbers } from './project-scrubbers.ts'

/** What the edge does for a deployment. It computes its table from the database, so that a switch is: write, then sync. */
export interface EdgeSwitch {
  /** Resolves when what the database says is in force, but for the hosts in `refused`; rejects when it is not in time. */
  sync(): Promise<{ refused: ReadonlyMap<string, string> }>
  drain(instanceId: string, timeoutMs: number, abort: AbortSignal): Promise<{ inFlight: number }>
  /** Requests of a project since the edge started. */
  counters(projectId: string): Promise<{ total: number; failed: number }>
  /** Milliseconds since 1970 of each project's last request. */
  activity(): Promise<Record<string, number>>
  ports(): { http: number; https: number | null }
}

export interface DeploymentsSettings {
  maxBuilds: number
  /** A build that writes nothing for so long is ended. */
  buildSilentSeconds: number
  baseDomain: string
  sleepAfterSeconds: number
  /** Between two comparisons of an image with its registry. */
  imageCheckSeconds: number
  /** How long a deployment waits for a server that is away. */
  serverWaitSeconds: number
  hostUrls: HostUrls
  /** Below these, and outside of the data folder's other parts, a project's source may be a folder. */
  projectRoots: readonly string[]
  dataDir: string
}

/** What a deployment waits for before it starts anything; rejects with words where it must not go on. */
export type BeforeStart = (
  deployment: { projectId: string; environment: string; startedAt: number },
  say: (line: string) => void,
  abort: AbortSignal,
) => Promise<void>

/** What ran on a server before a project took it over. Each call may be repeated. */
export interface PredecessorContainers {
  /** Before a unit starts: whoever holds one of its volumes stops. */
  makeWay(deployment: DeploymentRow, service: string, say: (line: string) => void, abort: AbortSignal): Promise<void>
  /** The project serves: what still runs of the old stops. */
  retire(deployment: DeploymentRow, say: (line: string) => void, abort: AbortSignal): Promise<void>
  /** The first version did not come to serve: what was stopped for it runs again. */
  giveBack(place: Pick<DeploymentRow, 'projectId' | 'environment'>, abort: AbortSignal): Promise<void>
  /** Whether the service was a container of the project's server before. */
  isAdopted(projectId: string, service: string): Promise<boolean>
  /** Projects whose predecessors were not handed over yet, and where those are. */
  unsettled(): Promise<{ serverId: string; projectId: string }[]>
}

export interface DeploymentsDeps {
  database: Database
  clock: Clock
  log: Log
  secretBox: SecretBox
  /** The one of the instance's own log. */
  scrubber: Scrubber
  /** What is written of a project goes through its own. */
  scrubbers: ProjectScrubbers
  runtimes: Runtimes
  git: Git
  probe: Probe
  edge: EdgeSwitch
  logStore: LogStore
  /** Folders of deployments that are under way; may be emptied at any time that none is. */
  workFolder: string
  projects: {
    quotas: {
      limitsOf(db: Db, organizationId: string): Promise<{ builds: number | null }>
      /** `quota_exceeded` where the organisation has more than it may. */
      refuseOver(bound: Pick<Bound, 'db' | 'lock'>, organizationId: string): Promise<void>
    }
    /** All that it has, deployed or not. */
    environmentsOf(projectId: string): Promise<readonly { slug: string }[]>
    openEnv(projectId: string, environment: string): Promise<OpenedEnv>
    openSecrets(projectId: string): Promise<string[]>
    /** The address of production that works now; null for a worker. */
    addressOf(project: ProjectRow): Promise<string | null>
    /** Where git asks, with the credential for it. */
    remoteOf(project: ProjectRow, url: string, abort?: AbortSignal): Promise<GitRemote>
    /** As `remoteOf`; where git is refused with what the connection gave, once more with another. */
    askRemote<Result>(
      project: ProjectRow,
      ask: (remote: GitRemote) => Promise<Result>,
      at: { url: string; abort: AbortSignal },
    ): Promise<Result>
    /** A deployment of the environment was asked for with this upload: it is the environment's source from now on. */
    takeUpload(bound: Bound, sessionId: string, at: { project: ProjectRow; environment: EnvironmentRow }): Promise<void>
    /** A deployment of the environment was asked for by branch or commit. */
    leaveUpload(bound: Bound, environment: EnvironmentRow): Promise<void>
    /** 404 where it has expired, or is not an upload that the project may be made of. */
    claimUpload(bound: Bound, sessionId: string, project: ProjectRow): Promise<void>
    /** To be called after the deployment's row has let go of it. */
    releaseUpload(bound: Bound, sessionId: string): Promise<void>
    /** Has an upload here that was sent to the object store. */
    fetchUpload(sessionId: string, organizationId: string): Promise<void>
    /** The tarball that a session received. */
    uploadFile(sessionId: string): string
  }
  /** What an organisation signs in with at image registries. */
  registries: {
    loginsOf(organizationId: string): Promise<readonly RegistryLogin[]>
    loginsOfEach(organizationIds: readonly string[]): Promise<ReadonlyMap<string, readonly RegistryLogin[]>>
  }
  imageRegistry: ImageRegistry
  publicUrl(): string
  /** Told of a new deployment and of its end, within the transaction that makes it so. */
  follow?(bound: Bound, deployment: DeploymentRow): Promise<void>
  settings: DeploymentsSettings
  /** Filled in by those who assemble the instance, once the modules above exist. */
  guards: { beforeStart?: BeforeStart }
  /** Filled in by those who assemble the instance; absent where nothing can be adopted. */
  predecessors: { containers?: PredecessorContainers }
  /** One start or stop of an environment at a time. */
  turns: KeyedMutex
}

export const nowOf = ({ clock }: Pick<DeploymentsDeps, 'clock'>): number => clock.now().getTime()
