import type { CreateProject, PolicyBody, Project } from '@berth/contract'
import type { Caller } from '../../http/handler.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Db } from '../../platform/db/schema.ts'
import type { ProjectRow } from '../../platform/db/tables/projects.ts'
import type { Log } from '../../platform/log.ts'
import type { RecordedWith } from '../projects/index.ts'
import type { Catalogue } from './load-templates.ts'

export interface CatalogueDeps {
  database: { db: Db }
  clock: Clock
  log: Log
  catalogue: Catalogue
  /** Runtime of this machine. */
  runtimeKind(): 'process' | 'docker'
  /** Why projects of several services cannot run on this machine: a predicate. Undefined: they can. */
  refusesServices?(): string | undefined
  projects: {
    create(body: CreateProject, caller: Caller, recordedWith: RecordedWith): Promise<ProjectRow>
    show(project: ProjectRow): Promise<Project>
    environmentUrl(project: ProjectRow, environment: string): string | null
  }
  deployments: {
    deploy(projectId: string, options: { trigger: 'manual'; createdBy: string }): Promise<unknown>
  }
  backups: {
    /** The organisation's backup destinations, oldest first. */
    destinationsOf(organizationId: string): Promise<readonly { id: string; name: string }[]>
    createPolicy(project: ProjectRow, body: PolicyBody, caller: Caller): Promise<unknown>
  }
}
