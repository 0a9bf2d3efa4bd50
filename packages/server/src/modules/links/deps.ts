import type { Level, Link, LinkBody } from '@berth/contract'
import type { Caller } from '../../http/handler.ts'
import type { Awaitable } from '../../platform/awaitable.ts'
import type { Database } from '../../platform/database.ts'
import type { LinkRow, ProjectRow } from '../../platform/db/tables/projects.ts'
import type { TransactionContext } from '../../platform/transaction.ts'

export interface LinksDeps {
  database: Database
  /** The caller's level on a project from a grant; undefined without one. */
  grantedLevel(caller: Caller, projectId: string): Awaitable<Level | undefined>
  projects: {
    find(projectId: string): Promise<ProjectRow | undefined>
    links: {
      create(
        project: ProjectRow,
        service: ProjectRow,
        body: Pick<LinkBody, 'prefix' | 'environment'>,
        createdBy: string | null,
      ): Promise<{ link: LinkRow; warnings: string[] }>
      remove(link: LinkRow, onDeleted: (transaction: TransactionContext) => Promise<unknown>): Promise<void>
      /** Deletes the links of a project or environment that is being deleted, and the links of other projects to that project. */
      removeAll(
        of: { projectId: string; environment?: string },
        onDeleted: (links: readonly LinkRow[], transaction: TransactionContext) => Promise<unknown>,
      ): Promise<void>
      show(link: LinkRow): Promise<Link>
    }
  }
  deployments: {
    removeLinkNetwork(linkId: string, serverId: string | null, abort: AbortSignal): Promise<void>
  }
}
