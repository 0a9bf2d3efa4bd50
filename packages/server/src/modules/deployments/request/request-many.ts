import { Failure } from '../../../platform/failure.ts'
import type { DeploymentsDeps } from '../deps.ts'
import {
  type DeploymentOptions,
  type RequestedDeployment,
  reportQueued,
  requestDeployment,
  requestWithin,
} from './request-deployment.ts'

export interface DeploymentRequest {
  projectId: string
  options: DeploymentOptions
}

/** A request that was not queued; `error` is a `Failure` when it was rejected. */
export type FailedRequest = DeploymentRequest & { error: unknown }

/** Batch size: each commit waits for the disk, and a transaction blocks all other SQLite writes. */
const batchSize = 10

/**
 * Queues many deployments in batches, each in one transaction. A request that fails does not affect the others. Returns the failed
 * ones.
 */
export async function requestMany(requests: readonly DeploymentRequest[], deps: DeploymentsDeps): Promise<FailedRequest[]> {
  const failed: FailedRequest[] = []
  for (let offset = 0; offset < requests.length; offset += batchSize) {
    const batch = requests.slice(offset, offset + batchSize)
    failed.push(...(await requestTogether(batch, deps).catch(() => requestEach(batch, deps))))
  }
  return failed
}

async function requestTogether(requests: readonly DeploymentRequest[], deps: DeploymentsDeps): Promise<FailedRequest[]> {
  const { refused, queued } = await deps.database.transaction(async (transaction) => {
    const refused: FailedRequest[] = []
    const queued: RequestedDeployment[] = []
    for (const request of requests) {
      try {
        queued.push(await requestWithin(transaction, request.projectId, request.options, deps))
      } catch (error) {
        if (!(error instanceof Failure)) throw error
        refused.push({ ...request, error })
      }
    }
    return { refused, queued }
  })
  reportQueued(queued, deps)
  return refused
}

/** Queues each request in its own transaction, after one of them made the batch fail. */
async function requestEach(requests: readonly DeploymentRequest[], deps: DeploymentsDeps): Promise<FailedRequest[]> {
  const failed: FailedRequest[] = []
  for (const request of requests)
    await requestDeployment(request.projectId, request.options, deps).catch((error: unknown) =>
      failed.push({ ...request, error }),
    )
  return failed
}
