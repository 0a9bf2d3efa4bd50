import type { DeploymentStatus } from '@berth/contract'
import type { PullRequestRow } from '../../platform/db/tables/git-events.ts'
import { job, sharedKind } from '../../platform/jobs/declare.ts'
import type { DeploymentRow, GitEventsDeps, ProjectRow } from './deps.ts'
import { callGitHost } from './host-errors.ts'
import { contextOf, deploymentPage } from './status-links.ts'
import { findPullRequest } from './store.ts'

export const commentKind = sharedKind<{ projectId: string; number: number }>('git-events.tell-pull-request')

/** Job group: one at a time, so that an older state never overwrites a newer one. */
export const commentKey = ({ projectId, number }: Pick<PullRequestRow, 'projectId' | 'number'>) =>
  `${commentKind.kind}:${projectId}:${number}`

/** Updates the comment on the pull request: the URL of its preview, or the reason why there is none. */
export const commentJob = (deps: GitEventsDeps) =>
  job<{ projectId: string; number: number }, unknown>(commentKind, {
    deadlineMs: 60_000,
    maxAttempts: 8,
    concurrency: 4,
    async run({ projectId, number }) {
      const project = await deps.projects.find(projectId)
      const row = project && (await findPullRequest(deps.database.db, projectId, number))
      if (!project || !row) return
      const deployment = await deps.deployments.newestOf(projectId, row.environment)
      const text = commentText(project, row, deployment, deps)
      const repository = deps.projects.repositoryRef(project)
      const { organizationId } = project
      const state = row.state === 'waiting' ? 'pending' : row.state === 'blocked' ? 'failure' : null
      // A rejected commit status must not prevent the comment.
      if (state)
        await callGitHost(deps, () =>
          deps.gitHost.setCommitStatus(organizationId, repository, row.commit, {
            state,
            description: (row.reason ?? '').slice(0, 140),
            context: contextOf(project, row.environment),
            targetUrl: `${deps.publicUrl()}/projects/${projectId}`,
          }),
        )
      await callGitHost(deps, () =>
        deps.gitHost.comment(organizationId, repository, number, { marker: `berth-preview-${projectId}`, text }),
      )
    },
  })

const statusTexts: Record<DeploymentStatus, string> = {
  queued: 'is waiting for the build',
  building: 'is being built',
  deploying: 'is being deployed',
  live: 'is live',
  superseded: 'is live',
  failed: 'failed',
  cancelled: 'was cancelled',
}

function commentText(
  project: ProjectRow,
  row: PullRequestRow,
  deployment: DeploymentRow | undefined,
  deps: GitEventsDeps,
): string {
  const title = `**${escapeMarkdown(project.name)}**`
  if (row.state === 'closed') return `${title}: the pull request is closed, and its preview was removed.`
  if (row.state !== 'active') return `${title}: no preview of ${row.commit.slice(0, 8)}. ${row.reason ?? ''}`
  const url = deps.projects.environmentUrl(project, row.environment)
  const lines = [`${title}: the preview of this pull request${url ? ` is at ${url}` : ''}`]
  if (deployment)
    lines.push(
      `Commit ${(deployment.commitSha ?? row.commit).slice(0, 8)} ${statusTexts[deployment.status]}. [Build and log](${deploymentPage(deployment, deps)})`,
    )
  if (deployment?.status === 'failed' && deployment.errorMessage)
    lines.push(`> ${escapeMarkdown(deployment.errorMessage.slice(0, 500))}`)
  return lines.join('\n\n')
}

/** Escapes Markdown, so that user text creates no link, mention or markup. */
const escapeMarkdown = (text: string): string => text.replace(/[\\`*_{}[\]()<>#+!|@&~]/g, '\\$&').replace(/[\r\n]+/g, ' ')
