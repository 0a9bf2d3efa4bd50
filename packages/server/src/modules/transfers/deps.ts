import type { DeploymentStatus } from '@berth/contract'
import type { PartWorkers } from '../../drivers/archive/part-workers.ts'
import type { ArchiveStores } from '../../drivers/archive-store/archive-store.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Database } from '../../platform/database.ts'
import type { DeploymentRow } from '../../platform/db/tables/deployments.ts'
import type { Log } from '../../platform/log.ts'
import type { SecretBox } from '../../platform/secrets/secret-box.ts'
import type { CloudConnection } from '../cloud/index.ts'
import type { ProjectData } from '../deployments/index.ts'
import type { DeploymentSummary, ProjectTransfers } from '../projects/index.ts'
import type { ProjectHistory } from './project-history.ts'
import type { RetryLimits } from './retry-unreachable.ts'

export interface TransfersDeps {
  database: Database
  clock: Clock
  log: Log
  secretBox: SecretBox
  settings: { dataDir: string; quotas: { arrivingMb: number | null } }
  stores: ArchiveStores
  /** Threads that pack and open bundles; they exit when idle. */
  workers: PartWorkers
  projects: ProjectTransfers
  data: ProjectData
  deployments: {
    deploy(
      projectId: string,
      options: { trigger: 'transfer'; createdBy: string | null; requestKey: string; commit?: string; environment: 'production' },
    ): Promise<DeploymentRow>
    find(id: string): Promise<DeploymentRow | undefined>
    cancel(deployment: DeploymentRow, message: string): Promise<unknown>
    /** Starts a deployment that was built and waits for the import. */
    resume(deploymentId: string): Promise<unknown>
    summary(projectId: string): Promise<DeploymentSummary | undefined>
  }
  history: {
    read(projectId: string): Promise<ProjectHistory>
    /** May be repeated: existing rows are left unchanged. */
    write(project: { projectId: string; organizationId: string }, history: ProjectHistory): Promise<void>
  }
  /** Lists the parts of a project that a transfer does not move. */
  untransferredParts(projectId: string): Promise<string[]>
  /** Connection to the linked cloud; undefined in a cloud, which coordinates no transfers. */
  cloud: CloudConnection | undefined
  /** Retry limits for a cloud that becomes unreachable during a transfer. */
  retryLimits: RetryLimits
  /** Resolves when the edge has applied the project's routes from the database. */
  syncRoutes(projectId: string): Promise<void>
}

/** Dependencies of the coordinator, which runs on a self-hosted instance. */
export type CoordinatorDeps = TransfersDeps & { cloud: CloudConnection }

export const isCoordinator = (deps: TransfersDeps): deps is CoordinatorDeps => deps.cloud !== undefined

export const nowOf = ({ clock }: Pick<TransfersDeps, 'clock'>): number => clock.now().getTime()

/** Whether the deployment has ended without success. */
export const hasFailed = (status: DeploymentStatus): boolean => status === 'failed' || status === 'cancelled'
