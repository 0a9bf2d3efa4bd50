import type { DeploymentStatus } from '@berth/contract'
import { job, sharedKind } from '../../platform/jobs/declare.ts'
import type { TransactionContext } from '../../platform/transaction.ts'
import { deployedSource } from '../deployments/index.ts'
import { commentKey, commentKind } from './comment-job.ts'
import type { CommitState, DeploymentRow, GitEventsDeps, ProjectRow } from './deps.ts'
import { callGitHost } from './host-errors.ts'
import { contextOf, deploymentPage } from './status-links.ts'
import { findPullRequestAt } from './store.ts'

export const reportKind = sharedKind<{ deploymentId: string }>('git-events.report')

/**
 * Queues reports to the git host, within the transaction that changes the deployment. The deployments module does not know what is
 * reported.
 */
export async function queueReports({ db, enqueue }: TransactionContext, deployment: DeploymentRow): Promise<void> {
  if (!commitOf(deployment)) return
  const { id: deploymentId, projectId, environment } = deployment
  await enqueue(reportKind.of({ projectId }), { deploymentId }, { groupKey: `${reportKind.kind}:${deploymentId}` })
  const row = environment === 'production' ? undefined : await findPullRequestAt(db, projectId, environment)
  if (row) await enqueue(commentKind.of({ projectId }), { projectId, number: row.number }, { groupKey: commentKey(row) })
}

/** Sets the commit status of a deployment at the host. */
export const reportJob = (deps: GitEventsDeps) =>
  job<{ deploymentId: string }, unknown>(reportKind, {
    deadlineMs: 60_000,
    maxAttempts: 8,
    concurrency: 4,
    async run({ deploymentId }) {
      const deployment = await deps.deployments.find(deploymentId)
      const project = deployment && (await deps.projects.find(deployment.projectId))
      const commit = deployment && commitOf(deployment)
      if (!project || !commit) return
      const repository = deps.projects.repositoryRef(project)
      await callGitHost(deps, () =>
        deps.gitHost.setCommitStatus(project.organizationId, repository, commit, statusOf(project, deployment, deps)),
      )
    },
  })

/** The full commit id, which the host requires. */
function commitOf(deployment: DeploymentRow): string | null {
  const source = deployedSource(deployment)
  const commit = source.kind === 'git' ? (deployment.commitSha ?? source.commit ?? '') : ''
  return /^([0-9a-f]{40}|[0-9a-f]{64})$/.test(commit) ? commit : null
}

const states: Record<DeploymentStatus, [CommitState['state'], string]> = {
  queued: ['pending', 'Waiting for the build'],
  building: ['pending', 'Building'],
  deploying: ['pending', 'Deploying'],
  live: ['success', 'Is live'],
  superseded: ['success', 'Was live'],
  failed: ['failure', 'Failed'],
  cancelled: ['error', 'Was cancelled'],
}

function statusOf(project: ProjectRow, deployment: DeploymentRow, deps: GitEventsDeps): CommitState {
  const [state, message] = states[deployment.status]
  const { errorMessage } = deployment
  return {
    state,
    description: (errorMessage && state !== 'success' ? `${message}: ${errorMessage}` : message).slice(0, 140),
    context: contextOf(project, deployment.environment),
    targetUrl: state === 'success' && deployment.url ? deployment.url : deploymentPage(deployment, deps),
  }
}
