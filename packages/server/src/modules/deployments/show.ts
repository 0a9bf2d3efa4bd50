import type { Deployment, DeploymentStep } from '@berth/contract'
import type { Artifact } from '../../drivers/runtime/runtime.ts'
import { iso, isoOrNull } from '../../platform/db/columns.ts'
import type { DeploymentRow } from '../../platform/db/tables/deployments.ts'

export function showDeployment(row: DeploymentRow): Deployment {
  return {
    id: row.id,
    projectId: row.projectId,
    environment: row.environment,
    number: row.number,
    trigger: row.trigger,
    status: row.status,
    commit: row.commitSha === null ? null : { sha: row.commitSha, message: row.commitMessage, author: row.commitAuthor },
    image: imageOf(row),
    sizeBytes: row.sizeBytes,
    url: row.url,
    steps: JSON.parse(row.steps) as DeploymentStep[],
    requestsDuringSwitch: row.requestsTotal === null ? null : { total: row.requestsTotal, failed: row.requestsFailed ?? 0 },
    error:
      row.errorCode === null
        ? null
        : { code: row.errorCode, message: row.errorMessage ?? '', logTail: JSON.parse(row.errorLogTail ?? '[]') },
    createdAt: iso(row.createdAt),
    startedAt: isoOrNull(row.startedAt),
    finishedAt: isoOrNull(row.finishedAt),
    createdBy: row.createdBy,
  }
}

/** The image, where one was built; a folder is nobody's business. */
export function imageOf({ artifacts }: Pick<DeploymentRow, 'artifacts'>): string | null {
  const all = Object.values(JSON.parse(artifacts ?? '{}') as Record<string, Artifact>)
  return all.find(({ kind }) => kind === 'image')?.reference ?? null
}
