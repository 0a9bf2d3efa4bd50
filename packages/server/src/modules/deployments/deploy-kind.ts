import type { JobKind } from '../../platform/jobs/declare.ts'

export interface DeployPayload {
  deploymentId: string
}

export const deployKind: JobKind<DeployPayload> = { kind: 'deployments.deploy' }

/** One active job a deployment. */
export const jobKey = (deploymentId: string) => `${deployKind.kind}:${deploymentId}`
