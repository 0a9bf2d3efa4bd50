import { Failure } from '../../../platform/failure.ts'
import type { DeploymentsDeps } from '../deps.ts'
import { type DeploymentOptions, type Requested, reportQueued, requestDeployment, requestWithin } from './request-deployment.ts'

export interface DeploymentRequest {
  projectId: string
  options: DeploymentOptions
}

/** A request that was not queued; `error` is a `Failure` when it was rejected. */
export type Unqueued = DeploymentRequest & { error: unknown }

/** Batch size: each commit waits for the disk, and a transaction blocks all other SQLite writes. */
const atOnce = 10

/**
 * Queues many deployments in batches, each in one transaction. A request that fails does not affect the others. Returns the failed
 * ones.
 */
export async function requestMany(requests: readonly DeploymentRequest[], deps: DeploymentsDeps): Promise<Unqueued[]> {
  const unqueued: Unqueued[] = []
  for (let at = 0; at < requests.length; at += atOnce) {
    const some = requests.slice(at, at + atOnce)
    unqueued.push(...(await requestTogether(some, deps).catch(() => requestEach(some, deps))))
  }
  return unqueued
}

async function requestTogether(requests: readonly DeploymentRequest[], deps: DeploymentsDeps): Promise<Unqueued[]> {
  const { refused, queued } = await deps.database.transaction(async (bound) => {
    const refused: Unqueued[] = []
    const queued: Requested[] = []
    for (const request of requests) {
      try {
        queued.push(await requestWithin(bound, request.projectId, request.options, deps))
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
async function requestEach(requests: readonly DeploymentRequest[], deps: DeploymentsDeps): Promise<Unqueued[]> {
  const unqueued: Unqueued[] = []
  for (const request of requests)
    await requestDeployment(request.projectId, request.options, deps).catch((error: unknown) =>
      unqueued.push({ ...request, error }),
    )
  return unqueued
}
