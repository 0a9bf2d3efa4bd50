import type { Deployment, DeploymentPlan, DeploymentSource, DeploymentStep } from '@berth/contract'
import type { Artifact } from '../../../drivers/runtime/runtime.ts'
import { iso, isoOrNull } from '../../../platform/db/columns.ts'
import type { DeploymentRow } from '../../../platform/db/tables/deployments.ts'
import type { Source } from '../../projects/index.ts'
import { planOf } from '../plan/plan.ts'

export function showDeployment(row: DeploymentRow): Deployment {
  const imported = row.importedAt === null ? null : (JSON.parse(row.config) as ImportedConfig)
  return {
    id: row.id,
    projectId: row.projectId,
    environment: row.environment,
    number: row.number,
    trigger: row.trigger,
    status: row.status,
    commit: row.commitSha === null ? null : { sha: row.commitSha, message: row.commitMessage, author: row.commitAuthor },
    source: imported?.source ?? sourceOf(row),
    image: imported ? imported.image : imageOf(row),
    sizeBytes: row.sizeBytes,
    url: row.url,
    steps: JSON.parse(row.steps) as DeploymentStep[],
    requestsDuringSwitch: row.requestsTotal === null ? null : { total: row.requestsTotal, failed: row.requestsFailed ?? 0 },
    error:
      row.errorCode === null
        ? null
        : { code: row.errorCode, message: row.errorMessage ?? '', logTail: JSON.parse(row.errorLogTail ?? '[]') },
    warnings: JSON.parse(row.warnings ?? '[]') as string[],
    plan: imported ? imported.plan : showPlan(row),
    createdAt: iso(row.createdAt),
    startedAt: isoOrNull(row.startedAt),
    finishedAt: isoOrNull(row.finishedAt),
    createdBy: row.createdBy,
  }
}

/** The config of an imported deployment, as the other instance showed it. */
export type ImportedConfig = Pick<Deployment, 'image' | 'plan' | 'source'>

function sourceOf(row: Pick<DeploymentRow, 'source'>): DeploymentSource {
  const source = JSON.parse(row.source) as Source | { kind: 'none' }
  const { kind } = source
  return {
    kind,
    url: kind === 'git' ? source.url : null,
    branch: kind === 'git' ? source.branch : null,
    uploadSessionId: kind === 'upload' ? source.sessionId : null,
  }
}

/** The plan of a deployment, once decided. With several services: that of the exposed one. */
export function showPlan({ plan, branch }: Pick<DeploymentRow, 'plan' | 'branch'>): DeploymentPlan | null {
  if (plan === null) return null
  const { type, units } = planOf({ plan })
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
    branch,
  }
}

/** The running image; with several services, that of the exposed one, if any. A folder is not shown. */
export function imageOf({ artifacts, plan }: Pick<DeploymentRow, 'artifacts' | 'plan'>): string | null {
  const all = JSON.parse(artifacts ?? '{}') as Record<string, Artifact>
  const units = plan === null ? [] : planOf({ plan }).units
  const unit = units.find(({ exposed }) => exposed) ?? (units.length === 1 ? units[0] : undefined)
  const artifact = unit && all[unit.service]
  return artifact?.kind === 'image' ? artifact.reference : null
}
