import type { DeploymentStatus } from '@berth/contract'
import type { PartWorkers } from '../../drivers/archive/part-workers.ts'
import type { ArchiveStores } from '../../drivers/archive-store/archive-store.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Database } from '../../platform/database.ts'
import type { DeploymentRow } from '../../platform/db/tables/deployments.ts'
import type { Log } from '../../platform/log.ts'
import type { SecretBox } from '../../platform/secrets/secret-box.ts'
import type { ProjectData } from '../deployments/index.ts'
import type { DeploymentSummary, ProjectTransfers } from '../projects/index.ts'
import type { History } from './bundle-body.ts'

export interface TransfersDeps {
  database: Database
  clock: Clock
  log: Log
  secretBox: SecretBox
  settings: { dataDir: string; quotas: { arrivingMb: number | null } }
  stores: ArchiveStores
  /** Threads that pack and open bundles; they end when there is nothing to do. */
  workers: PartWorkers
  projects: ProjectTransfers
  data: ProjectData
  deployments: {
    deploy(
      projectId: string,
      options: { trigger: 'transfer'; createdBy: string | null; requestKey: string; commit?: string; environment: 'production' },
    ): Promise<DeploymentRow>
    find(id: string): Promise<DeploymentRow | undefined>
    cancel(deployment: DeploymentRow, words: string): Promise<unknown>
    /** One that was built and held is started. */
    goOn(deploymentId: string): Promise<unknown>
    summary(projectId: string): Promise<DeploymentSummary | undefined>
  }
  history: {
    read(projectId: string): Promise<History>
    /** May be repeated: what is known already stays as it is. */
    write(project: { projectId: string; organizationId: string }, history: History): Promise<void>
  }
  /** Parts of a project that a move leaves behind, in words. */
  leftBehind(projectId: string): Promise<string[]>
  /** Filled in by those who assemble the instance: whether a move is driven from here, and is not over. */
  drivers: {
    isDriven?(id: string): Promise<boolean>
    /** False: it is not driven from here. Rejects when it cannot be taken back any more. */
    callOff?(id: string, organizationId: string): Promise<boolean>
  }
  /** Resolves when the edge has taken what the database says. */
  syncRoutes(projectId: string): Promise<void>
}

export const nowOf = ({ clock }: Pick<TransfersDeps, 'clock'>): number => clock.now().getTime()

/** A deployment that will not come to anything any more. */
export const hasFailed = (status: DeploymentStatus): boolean => status === 'failed' || status === 'cancelled'
