import type { DeletionItem } from '@berth/contract'
import type { ProjectRow } from '../../platform/db/tables/projects.ts'

/** An operation that blocks the deletion of a project. */
export interface BlockingOperation {
  /** `deployment`, `backup run`, `restore` … */
  kind: string
  id: string
  status: string
}

export interface DeletionOptions {
  deleteVolumes: boolean
}

/** Data or workload of a project that a module above this one owns: deployments, instances, backups, logs. */
export interface ProjectPart {
  /** Name for log lines: `deployments`. */
  readonly describe: string
  /** Lists the items that deleting the project would remove and keep; changes nothing. */
  previewDeletion(project: ProjectRow, options: DeletionOptions): Promise<DeletionItem[]>
  /** Cancels running work, then removes. May run again after a crash, so items that no longer exist are not an error. */
  remove(project: ProjectRow, options: DeletionOptions): Promise<void>
  /**
   * Called when an operation has ended: work that waited for it continues, or ends where the project has moved away. May run
   * twice; rejects to be retried.
   */
  resume?(projectId: string): Promise<void>
  /** The parts that belong to a single environment; absent: the data belongs to the whole project. */
  readonly ofEnvironment?: EnvironmentPart
}

/** The same for one environment. */
export interface EnvironmentPart {
  previewDeletion(project: ProjectRow, environment: string, options: DeletionOptions): Promise<DeletionItem[]>
  remove(project: ProjectRow, environment: string, options: DeletionOptions): Promise<void>
}
