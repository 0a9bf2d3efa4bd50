import type { PullRequestRow } from '../../platform/db/tables/git-events.ts'
import type { PullRequestDelivery } from '../git-host/index.ts'
import { previewSlug } from '../projects/index.ts'
import { commentKey, commentKind } from './comment-job.ts'
import { type GitEventsDeps, nowOf, type ProjectRow } from './deps.ts'
import { forEachProject } from './for-each-project.ts'
import { lockOf, removePreview, startPreview } from './preview.ts'
import { changePullRequest, findPullRequest, nextBlocked, putPullRequest } from './store.ts'

export const waitingReason =
  'The pull request comes from a fork. A user with project:admin must approve this commit before it is built.'

/**
 * Follows a pull request in each project with previews: creates its environment, redeploys on each push, and removes it on close.
 */
export const followPullRequest = (projects: readonly ProjectRow[], delivery: PullRequestDelivery, deps: GitEventsDeps) =>
  forEachProject(projects, deps, async (project) => {
    if (delivery.action === 'closed') return closePullRequest(project, delivery, deps)
    if (project.enabled && project.previews) await updatePullRequest(project, delivery, deps)
  })

async function updatePullRequest(project: ProjectRow, delivery: PullRequestDelivery, deps: GitEventsDeps): Promise<void> {
  const { number } = delivery
  const row = await deps.database.transaction(async ({ db, enqueue, lock }) => {
    // Serializes with approvals, so that an approval applies to either the old or the new commit.
    await lock(lockOf(project.id, number))
    const existing = await findPullRequest(db, project.id, number)
    if (isOutdated(delivery, existing)) return null
    const row = rowOf(project, delivery, existing, deps)
    await putPullRequest(db, row)
    if (row.state === 'waiting')
      await enqueue(commentKind.of(row), { projectId: project.id, number }, { groupKey: commentKey(row) })
    return row
  })
  if (row?.state === 'active') await startPreview(project, row, deps)
}

function rowOf(
  project: ProjectRow,
  { number, title, author, branch, commit, fromFork, changedAt }: PullRequestDelivery,
  existing: PullRequestRow | undefined,
  deps: GitEventsDeps,
): PullRequestRow {
  const mayRun = !fromFork || existing?.approvedCommit === commit
  return {
    projectId: project.id,
    number,
    branch,
    commit,
    changedAt: newest(changedAt, existing),
    title,
    author: author ?? '',
    fromFork: fromFork ? 1 : 0,
    state: mayRun ? 'active' : 'waiting',
    reason: mayRun ? null : waitingReason,
    environment: previewSlug(number),
    approvedBy: existing?.approvedBy ?? null,
    approvedCommit: existing?.approvedCommit ?? null,
    updatedAt: nowOf(deps),
  }
}

/** Maximum time by which deliveries arrive out of order: hosts send them from many machines. */
const disorderMs = 60_000

/**
 * Whether a delivery is older than the known state. Delivery ids are not signed: an attacker could replay a recorded delivery
 * under another id to restore an old state.
 */
const isOutdated = ({ changedAt }: PullRequestDelivery, existing: PullRequestRow | undefined): boolean =>
  changedAt !== null && existing?.changedAt != null && changedAt < existing.changedAt - disorderMs

const newest = (changedAt: number | null, existing: PullRequestRow | undefined): number | null =>
  Math.max(changedAt ?? 0, existing?.changedAt ?? 0) || null

async function closePullRequest(project: ProjectRow, delivery: PullRequestDelivery, deps: GitEventsDeps): Promise<void> {
  const { number, changedAt } = delivery
  const row = await findPullRequest(deps.database.db, project.id, number)
  if (!row || isOutdated(delivery, row)) return
  await removePreview(row, deps)
  await deps.database.transaction(async ({ db, enqueue }) => {
    await changePullRequest(db, row, { state: 'closed', reason: null, changedAt: newest(changedAt, row) })
    if (row.state !== 'closed')
      await enqueue(commentKind.of(row), { projectId: project.id, number }, { groupKey: commentKey(row) })
  })
  await startNextBlocked(project, deps)
}

/** Starts the blocked preview that has waited longest, after another preview was removed. */
export async function startNextBlocked(project: ProjectRow, deps: GitEventsDeps): Promise<void> {
  const next = project.enabled && project.previews ? await nextBlocked(deps.database.db, project.id) : undefined
  if (next) await startPreview(project, next, deps)
}
