import type { DeletionItem } from '@berth/contract'
import type { ProjectRow } from '../../platform/db/tables/projects.ts'

/** Work that deleting a project would cut short. */
export interface WorkUnderWay {
  /** `deployment`, `backup run`, `restore` … */
  kind: string
  id: string
  status: string
}

export interface DeletionOptions {
  deleteVolumes: boolean
}

/** Something that hangs on a project and is above this module: deployments, what runs, backups, logs. */
export interface ProjectPart {
  /** What it is, for the log: `deployments`. */
  readonly describe: string
  /** What deleting the project would remove and what it would keep, item by item; changes nothing. */
  previewDeletion(project: ProjectRow, options: DeletionOptions): Promise<DeletionItem[]>
  /** Cancels what is under way, then removes. Runs again after a crash: what is gone already is no failure. */
  remove(project: ProjectRow, options: DeletionOptions): Promise<void>
  /**
   * An operation has ended: work that waited for it goes on, or ends where the project has left. May run twice; rejects where it is to
   * be tried again.
   */
  resume?(projectId: string): Promise<void>
  /** What of it hangs on a single environment, by its slug; without this nothing does, and all stays with the project. */
  readonly ofEnvironment?: EnvironmentPart
}

/** The same, of one environment alone. */
export interface EnvironmentPart {
  previewDeletion(project: ProjectRow, environment: string, options: DeletionOptions): Promise<DeletionItem[]>
  remove(project: ProjectRow, environment: string, options: DeletionOptions): Promise<void>
}
