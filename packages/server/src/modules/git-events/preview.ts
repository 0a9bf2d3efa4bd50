import type { PullRequestRow } from '../../platform/db/tables/git-events.ts'
import { Failure } from '../../platform/failure.ts'
import { commentKey, commentKind } from './comment-job.ts'
import type { GitEventsDeps, ProjectRow } from './deps.ts'
import { changePullRequest, findPullRequest } from './store.ts'

/** Creates the environment of a pull request and deploys its current commit there. */
export async function startPreview(project: ProjectRow, row: PullRequestRow, deps: GitEventsDeps): Promise<void> {
  const { number, branch, commit, title, author } = row
  const fromFork = row.fromFork === 1
  const environment = await deps.projects.ensurePreview(project, { pullRequest: number, branch, fromFork })
  if (typeof environment === 'string') {
    await recordState(row, { state: 'blocked', reason: environment }, deps)
    return
  }
  if (environment.deletingSince !== null) throw new Error(`The environment ${environment.slug} is still being removed`)
  if (!(await recordState(row, { state: 'active', reason: null }, deps))) return
  await deps.deployments.deploy(project.id, {
    trigger: 'pull_request',
    createdBy: null,
    environment: environment.slug,
    branch,
    commit,
    commitFacts: { message: title, author: author || null },
    requestKey: `pull_request:${commit}`,
    ...(fromFork ? { fromFork: true, ref: refOf(project, number) } : {}),
  })
}

/** Removes a preview entirely: containers, route, variables and volumes. */
export async function removePreview({ projectId, number, environment }: PullRequestRow, deps: GitEventsDeps): Promise<void> {
  const environments = await deps.projects.environmentsOf(projectId)
  const row = environments.find(({ slug, pullRequest }) => slug === environment && pullRequest === number)
  if (!row || row.deletingSince !== null) return
  await deps.projects.removeEnvironment(row, { force: true, deleteVolumes: true, isAutomatic: true }).catch((error: unknown) => {
    // The environment is marked for deletion and its removal is retried.
    if (!(error instanceof Failure)) throw error
    deps.log.warn({ err: error, projectId, environment }, 'git-events: preview not removed yet')
  })
}

/** The ref of a pull request's newest commit in the base repository, including those from forks. */
const refOf = ({ gitProvider }: ProjectRow, number: number): string =>
  gitProvider === 'gitlab' ? `refs/merge-requests/${number}/head` : `refs/pull/${number}/head`

export const lockOf = (projectId: string, number: number): string => `pull-request:${projectId}:${number}`

/** Records the state of a pull request. Returns false when it has a newer commit, which is handled by its own delivery. */
const recordState = (row: PullRequestRow, changes: Pick<PullRequestRow, 'state' | 'reason'>, { database }: GitEventsDeps) =>
  database.transaction(async ({ db, enqueue, lock }) => {
    await lock(lockOf(row.projectId, row.number))
    const current = await findPullRequest(db, row.projectId, row.number)
    if (current?.commit !== row.commit) return false
    await changePullRequest(db, row, changes)
    await enqueue(commentKind.of(row), { projectId: row.projectId, number: row.number }, { groupKey: commentKey(row) })
    return true
  })
