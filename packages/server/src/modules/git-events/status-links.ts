import type { DeploymentRow, GitEventsDeps, ProjectRow } from './deps.ts'

/** Commit status context: one per project and environment. */
export const contextOf = ({ slug }: ProjectRow, environment: string): string =>
  environment === 'production' ? `berth/${slug}` : `berth/${slug}/${environment}`

export const deploymentPage = ({ id, projectId }: DeploymentRow, { publicUrl }: Pick<GitEventsDeps, 'publicUrl'>): string =>
  `${publicUrl()}/projects/${projectId}/deployments/${id}`
