import { newId } from '../../../platform/db/ids.ts'
import type { EnvironmentRow, ProjectRow } from '../../../platform/db/tables/projects.ts'
import { Failure } from '../../../platform/failure.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import { nowOf, type ProjectsDeps } from '../deps.ts'
import { changeProject } from '../operations/change-project.ts'
import { refuseOverQuota } from '../quotas/quotas.ts'
import { allEnvironments, changeEnvironment, insertEnvironment } from '../store.ts'

export interface PreviewOptions {
  pullRequest: number
  branch: string
  fromFork: boolean
}

export const previewSlug = (pullRequest: number): string => `pr-${pullRequest}`

/** The environment of a pull request, created if it does not exist; a message where the project has reached its limit. */
export async function ensurePreview(
  project: ProjectRow,
  { pullRequest, branch, fromFork }: PreviewOptions,
  deps: ProjectsDeps,
): Promise<EnvironmentRow | string> {
  const slug = previewSlug(pullRequest)
  let result: EnvironmentRow | string = ''
  const decide = async (current: ProjectRow, transaction: TransactionContext) => {
    const { db } = transaction
    const all = await allEnvironments(db, project.id)
    const existing = all.find((row) => row.slug === slug)
    result = existing ? checkReusable(existing) : (previewLimitMessage(all, current) ?? '')
    if (existing && typeof result !== 'string') {
      // The project may have changed its repository: the same number then names another pull request.
      result = { ...existing, branch, fromFork: fromFork ? 1 : 0 }
      if (existing.branch === branch && existing.fromFork === result.fromFork) return null
      await changeEnvironment(db, existing.id, { branch, fromFork: result.fromFork })
      return {}
    }
    if (result) return null
    const newest = Math.max(...all.map(({ createdAt }) => createdAt))
    const row: EnvironmentRow = {
      id: newId('env'),
      projectId: project.id,
      name: `Pull request ${pullRequest}`,
      slug,
      type: 'preview',
      branch,
      uploadSessionId: null,
      pullRequest,
      fromFork: fromFork ? 1 : 0,
      deletingSince: null,
      createdAt: Math.max(nowOf(deps), newest + 1),
    }
    await insertEnvironment(db, row)
    await refuseOverQuota(transaction, project.organizationId, ['cpuCores', 'memoryMb'], deps)
    result = row
    return {}
  }
  try {
    // A preview shares no data with a restore or a move; its deployment waits.
    await changeProject(project, deps, decide, { isAutomatic: true })
  } catch (error) {
    if (error instanceof Failure && error.code === 'quota_exceeded') return error.message
    throw error
  }
  return result
}

function checkReusable(existing: EnvironmentRow): EnvironmentRow | string {
  if (existing.pullRequest === null)
    return `The environment ${existing.slug} was created manually. Delete or rename it to get a preview.`
  // An environment that is being deleted is handled by the caller: see `git-events`.
  return existing
}

function previewLimitMessage(all: readonly EnvironmentRow[], { previewsMaximum }: ProjectRow): string | undefined {
  const previews = all.filter(({ pullRequest, deletingSince }) => pullRequest !== null && deletingSince === null)
  if (previews.length < previewsMaximum) return undefined
  const names = previews.map(({ slug }) => slug).join(', ')
  return `The project has reached its maximum of ${previewsMaximum} previews (${names}). Close a pull request or raise previewsMaximum.`
}
