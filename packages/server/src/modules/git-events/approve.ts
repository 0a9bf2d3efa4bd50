import type { PullRequestRow } from '../../platform/db/tables/git-events.ts'
import { fail } from '../../platform/failure.ts'
import { job, sharedKind } from '../../platform/jobs/declare.ts'
import type { GitEventsDeps, ProjectRow } from './deps.ts'
import { lockOf, startPreview } from './preview.ts'
import { groupOfProject } from './receive.ts'
import { changePullRequest, findPullRequest } from './store.ts'

const startKind = sharedKind<{ projectId: string; number: number }>('git-events.start-preview')

/** Approves the current commit of a fork's pull request; each later commit needs approval again. */
export async function approve(
  project: ProjectRow,
  number: number,
  { commit, by }: { commit?: string; by: string },
  deps: GitEventsDeps,
): Promise<PullRequestRow> {
  return deps.database.transaction(async ({ db, enqueue, lock }) => {
    await lock(lockOf(project.id, number))
    const row =
      (await findPullRequest(db, project.id, number)) ??
      fail('not_found', { message: 'This pull request does not exist or was not reported by the git host' })
    if (row.state !== 'waiting') fail('conflict', { message: `The pull request is not waiting for approval: it is ${row.state}` })
    if (commit && commit !== row.commit)
      fail('conflict', { message: `The pull request has a newer commit, ${row.commit}. Review that commit first.` })
    const changes = { state: 'active' as const, reason: null, approvedBy: by, approvedCommit: row.commit }
    await changePullRequest(db, row, changes)
    // In the repository's job group: otherwise a pull request that closes meanwhile would get a preview after its removal.
    await enqueue(startKind.of(project), { projectId: project.id, number }, { groupKey: groupOfProject(project) })
    return { ...row, ...changes }
  })
}

export const startJob = (deps: GitEventsDeps) =>
  job<{ projectId: string; number: number }, unknown>(startKind, {
    deadlineMs: 60_000,
    async run({ projectId, number }) {
      const project = await deps.projects.find(projectId)
      const row = await findPullRequest(deps.database.db, projectId, number)
      // A newer commit may have arrived meanwhile, which is not approved.
      if (!project?.enabled || row?.state !== 'active' || row.approvedCommit !== row.commit) return
      await startPreview(project, row, deps)
    },
  })
