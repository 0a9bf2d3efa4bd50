import { type Deployment, terminalDeployment } from '@berth/contract'
import type { Db } from '../../../platform/db/schema.ts'
import type { ImportedConfig } from '../plan/deployed.ts'
import { insertHistory, listDeployments } from '../store.ts'
import { showDeployment } from './show.ts'

const maxDeployments = 500

/** The newest deployments of a project that moves, as the API shows them. */
export async function readHistory(db: Db, projectId: string): Promise<Deployment[]> {
  const { rows } = await listDeployments(db, null, { projectId, limit: maxDeployments })
  return rows.map(showDeployment)
}

/** Records deployments from another instance, as read-only history without artifacts. Known ones are left unchanged. */
export async function writeHistory(db: Db, projectId: string, history: readonly Deployment[], now: number): Promise<void> {
  for (const deployment of history) {
    const status = deployment.status === 'live' ? 'superseded' : deployment.status
    if (terminalDeployment.has(status)) await insertHistory(db, { ...rowOf(deployment, now), projectId, status })
  }
}

const importedConfig = ({ image, plan, source }: Deployment): ImportedConfig => ({ image, plan, ...(source ? { source } : {}) })

const rowOf = (deployment: Deployment, now: number) => ({
  ...{ id: deployment.id, environment: deployment.environment, number: deployment.number, trigger: deployment.trigger },
  config: JSON.stringify(importedConfig(deployment)),
  ...{ source: '{"kind":"none"}', env: null, artifacts: null, plan: null, serverId: null, force: 0 as const },
  sizeBytes: deployment.sizeBytes,
  commitSha: deployment.commit?.sha ?? null,
  commitMessage: deployment.commit?.message ?? null,
  commitAuthor: deployment.commit?.author ?? null,
  branch: null,
  steps: JSON.stringify(deployment.steps),
  url: deployment.url,
  requestsTotal: deployment.requestsDuringSwitch?.total ?? null,
  requestsFailed: deployment.requestsDuringSwitch?.failed ?? null,
  errorCode: deployment.error?.code ?? null,
  errorMessage: deployment.error?.message ?? null,
  errorLogTail: deployment.error ? JSON.stringify(deployment.error.logTail) : null,
  // Users have other ids on another instance.
  createdBy: null,
  createdAt: Date.parse(deployment.createdAt),
  startedAt: deployment.startedAt ? Date.parse(deployment.startedAt) : null,
  finishedAt: deployment.finishedAt ? Date.parse(deployment.finishedAt) : null,
  importedAt: now,
})
