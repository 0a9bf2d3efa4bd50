import { cloudProjectsOf, recordMissing } from './cloud-project-store.ts'
import type { CloudDeps } from './deps.ts'
import { enqueueForget } from './forget-job.ts'
import { accountOf, type Link } from './links.ts'
import { requestCloud } from './request-cloud.ts'

/** Time for which a project must be missing: a cloud that is being restored from a backup may lack it temporarily. */
const missingMs = 10 * 60_000
const maxPerRun = 100

/** Finds projects that were transferred to the cloud and deleted there, and removes their local copies. */
export async function watchMissing(link: Link, deps: CloudDeps, abort: AbortSignal): Promise<void> {
  const transferred = (await cloudProjectsOf(deps.database.db, link.row.organizationId)).filter(
    ({ cloud }) => cloud === accountOf(link.row),
  )
  if (transferred.length === 0 || !(await seesEveryProject(link, deps, abort))) return
  const now = deps.clock.now().getTime()
  for (const { projectId, missingSince } of transferred.slice(0, maxPerRun)) {
    const { status } = await requestCloud(deps.api, link.address, { method: 'GET', path: `/api/projects/${projectId}`, abort })
    if (status !== 404) {
      if (status === 200 && missingSince !== null) await recordMissing(deps.database.db, projectId, null)
    } else if (missingSince === null) await recordMissing(deps.database.db, projectId, now)
    else if (now - missingSince >= missingMs) await enqueueForget(projectId, deps)
  }
}

/**
 * Whether the token sees all projects. A token limited to certain projects gets 404 for the others, and 403 for routes without
 * a project.
 */
async function seesEveryProject({ address }: Link, { api }: CloudDeps, abort: AbortSignal): Promise<boolean> {
  return (await requestCloud(api, address, { method: 'GET', path: '/api/transfers', abort })).status === 200
}
