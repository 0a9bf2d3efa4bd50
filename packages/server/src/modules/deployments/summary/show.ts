import type { Deployment, DeploymentPlan, DeploymentSource } from '@berth/contract'
import { iso, isoOrNull } from '../../../platform/db/columns.ts'
import { deploymentJson } from '../../../platform/db/json-columns/deployments.ts'
import { createListResponse } from '../../../platform/db/pages.ts'
import type { DeploymentRow } from '../../../platform/db/tables/deployments.ts'
import { type DeployPlan, deployedSource, importedConfig, storedArtifacts, storedPlan } from '../plan/deployed.ts'

export function showDeployment(row: DeploymentRow): Deployment {
  const imported = row.importedAt === null ? null : importedConfig(row)
  const plan = storedPlan(row)
  return {
    id: row.id,
    projectId: row.projectId,
    environment: row.environment,
    number: row.number,
    trigger: row.trigger,
    status: row.status,
    commit: row.commitSha === null ? null : { sha: row.commitSha, message: row.commitMessage, author: row.commitAuthor },
    source: imported?.source ?? sourceOf(row),
    image: imported ? imported.image : imageOf(row, plan),
    sizeBytes: row.sizeBytes,
    url: row.url,
    steps: deploymentJson.steps(row),
    requestsDuringSwitch: row.requestsTotal === null ? null : { total: row.requestsTotal, failed: row.requestsFailed ?? 0 },
    error:
      row.errorCode === null
        ? null
        : { code: row.errorCode, message: row.errorMessage ?? '', logTail: deploymentJson.errorLogTail(row) ?? [] },
    warnings: deploymentJson.warnings(row) ?? [],
    plan: imported ? imported.plan : showPlan(row, plan),
    createdAt: iso(row.createdAt),
    startedAt: isoOrNull(row.startedAt),
    finishedAt: isoOrNull(row.finishedAt),
    createdBy: row.createdBy,
  }
}

export const deploymentList = createListResponse(showDeployment)

function sourceOf(row: Pick<DeploymentRow, 'id' | 'source'>): DeploymentSource {
  const source = deployedSource(row)
  const { kind } = source
  return {
    kind,
    url: kind === 'git' ? source.url : null,
    branch: kind === 'git' ? source.branch : null,
    uploadSessionId: kind === 'upload' ? source.sessionId : null,
  }
}

/** The plan of a deployment, once decided. With several services: that of the exposed one. */
export function showPlan(
  deployment: Pick<DeploymentRow, 'id' | 'plan' | 'branch'>,
  plan: DeployPlan | null = storedPlan(deployment),
): DeploymentPlan | null {
  if (plan === null) return null
  const { type, units } = plan
  const unit = units.find(({ exposed }) => exposed) ?? units[0]
  const build = units.length === 1 || unit?.exposed ? unit?.build : null
  return {
    type,
    framework: build?.framework ?? null,
    packageManager: build?.packageManager ?? null,
    installCommand: build?.installCommand ?? null,
    buildCommand: build?.buildCommand ?? null,
    startCommand: build?.startCommand ?? null,
    outputDirectory: build?.outputDirectory ?? null,
    port: unit?.port ?? null,
    branch: deployment.branch,
  }
}

/** The running image; with several services, that of the exposed one, if any. A folder is not shown. */
export function imageOf(
  deployment: Pick<DeploymentRow, 'id' | 'artifacts' | 'plan'>,
  plan: DeployPlan | null = storedPlan(deployment),
): string | null {
  const all = storedArtifacts(deployment) ?? {}
  const units = plan?.units ?? []
  const unit = units.find(({ exposed }) => exposed) ?? (units.length === 1 ? units[0] : undefined)
  const artifact = unit && all[unit.service]
  return artifact?.kind === 'image' ? artifact.reference : null
}
