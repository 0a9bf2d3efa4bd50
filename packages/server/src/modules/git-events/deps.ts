import type { GitHostProvider } from '@berth/contract'
import type { Clock } from '../../platform/clock.ts'
import type { Database } from '../../platform/database.ts'
import type { DeploymentRow } from '../../platform/db/tables/deployments.ts'
import type { EnvironmentRow, ProjectRow } from '../../platform/db/tables/projects.ts'
import type { Log } from '../../platform/log.ts'
import type { createDeployments } from '../deployments/index.ts'
import type { DroppedInstallation, InboundDelivery, PullRequestDelivery, VerifiedDelivery } from '../git-host/index.ts'
import type { createProjects, RepositoryRef } from '../projects/index.ts'

export interface CommitState {
  state: 'pending' | 'success' | 'failure' | 'error'
  description: string
  context: string
  targetUrl: string | null
}

/** Operations of the git host module. */
export interface GitHostOperations {
  verifyDelivery(inbound: InboundDelivery): Promise<VerifiedDelivery | null>
  recordDeliveryTime(webhookIds: readonly string[]): Promise<void>
  /** Organisations with an app installation on that owner's account. */
  organizationsWith(provider: GitHostProvider, owner: string): Promise<string[]>
  dropInstallation(provider: GitHostProvider, installationId: number): Promise<DroppedInstallation[]>
  markInstallation(provider: GitHostProvider, installationId: number, state: 'suspended' | 'resumed'): Promise<void>
  /** Open pull requests of the repository; none without a connection to the host. */
  openPullRequests(organizationId: string, repository: RepositoryRef): Promise<PullRequestDelivery[]>
  /** Sets a commit status; does nothing without a connection to the host. */
  setCommitStatus(organizationId: string, repository: RepositoryRef, commit: string, status: CommitState): Promise<void>
  /** Writes a comment; a second call with the same marker replaces it. */
  comment(
    organizationId: string,
    repository: RepositoryRef,
    pullRequest: number,
    body: { marker: string; text: string },
  ): Promise<void>
}

type Projects = ReturnType<typeof createProjects>
type Deployments = ReturnType<typeof createDeployments>

export interface GitEventsDeps {
  database: Database
  clock: Clock
  log: Log
  gitHost: GitHostOperations
  projects: Pick<
    Projects,
    | 'isFollowed'
    | 'wasFollowed'
    | 'isBeingTransferred'
    | 'listOfRepository'
    | 'environmentsOf'
    | 'find'
    | 'ensurePreview'
    | 'removeEnvironment'
    | 'repositoryRef'
    | 'environmentUrl'
  >
  deployments: Pick<Deployments, 'deploy' | 'deployMany' | 'find' | 'newestOf'>
  /** Public URL of this instance, without a trailing slash. */
  publicUrl: () => string
}

export type { DeploymentRow, EnvironmentRow, ProjectRow }

export const nowOf = ({ clock }: Pick<GitEventsDeps, 'clock'>): number => clock.now().getTime()
