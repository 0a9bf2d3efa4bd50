import type { Job } from '../../platform/jobs/declare.ts'
import { backupsInCloud } from './backups-in-cloud.ts'
import { cloudProjects } from './cloud-projects.ts'
import { createCloudProxy } from './cloud-proxy.ts'
import type { CloudDeps } from './deps.ts'
import { forgetJob } from './forget-job.ts'
import { gitHostLinks } from './git-host-links.ts'
import { cloudHandlers } from './handlers.ts'
import { Links } from './links.ts'
import { hasLinks, linksEnding } from './store.ts'
import { watchJob, watchSchedule } from './watch-job.ts'

export { isUnreachable, requireSuccess } from './cloud-answer.ts'
export { deleteCloudProject, findCloudProject, saveCloudProject } from './cloud-project-store.ts'
export type { CloudDeps } from './deps.ts'
export { accountOf, type Link } from './links.ts'
export { cloudUnreachable, requestCloud } from './request-cloud.ts'

/** Connection to the clouds that organisations are linked to. */
export interface CloudConnection {
  links: Links
  api: CloudDeps['api']
}

/**
 * A *link* connects an organisation of a self-hosted instance to an account in a cloud. Requests for a project that is not on
 * this instance are forwarded there with the link's token, after the caller's own permission was checked.
 */
export function createCloud(deps: CloudDeps) {
  const links = new Links(deps)
  return {
    handlers: cloudHandlers(deps, links),
    proxy: createCloudProxy(links, deps),
    hasLinks: () => hasLinks(deps.database.db),
    projects: cloudProjects(deps, links),
    jobs: [forgetJob(deps), watchJob(deps, links)] as Job<unknown, undefined>[],
    schedules: [watchSchedule],
    /** The link and its API, for transfers. */
    connection: { links, api: deps.api } satisfies CloudConnection,
    gitHostLinks: gitHostLinks(deps, links),
    backups: backupsInCloud(deps, links),
    /** Tokens of links that expire soon, for the token check. */
    async expiringTokens(now: Date, until: Date) {
      const rows = await linksEnding(deps.database.db, now.getTime(), until.getTime())
      return rows.map((row) => ({
        id: `cloud:${row.organizationId}:${row.linkedAt}`,
        name: `the link to ${row.url}`,
        lastFour: row.tokenLastFour,
        userId: row.linkedBy,
        organizationId: row.organizationId,
        createdAt: new Date(row.linkedAt),
        expiresAt: new Date(row.tokenExpiresAt as number),
      }))
    },
  }
}
