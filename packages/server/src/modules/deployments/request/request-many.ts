import { Failure } from '../../../platform/failure.ts'
import type { DeploymentsDeps } from '../deps.ts'
import { type DeploymentOptions, type Requested, requestDeployment, requestWithin, sayQueued } from './request-deployment.ts'

export interface DeploymentRequest {
  projectId: string
  options: DeploymentOptions
}

/** Of one that was not queued: a `Failure` where it was refused. */
export type Unqueued = DeploymentRequest & { error: unknown }

/** A commit waits for the disk; a transaction keeps all other writes of SQLite waiting. */
const atOnce = 10

/** Queues many, a few in one transaction. One that cannot be queued is in no other one's way; answers with those. */
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
  sayQueued(queued, deps)
  return refused
}

/** One of them has made all fail. */
async function requestEach(requests: readonly DeploymentRequest[], deps: DeploymentsDeps): Promise<Unqueued[]> {
  const unqueued: Unqueued[] = []
  for (const request of requests)
    await requestDeployment(request.projectId, request.options, deps).catch((error: unknown) =>
      unqueued.push({ ...request, error }),
    )
  return unqueued
}
