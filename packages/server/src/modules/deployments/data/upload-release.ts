import type { DeploymentsDeps } from '../deps.ts'
import { forgetUploads } from '../store.ts'

/** Deployments that are over, and not among `kept`, let go of their uploads. */
export const releaseUploads = (
  target: { projectId: string; environment?: string },
  kept: readonly string[],
  deps: DeploymentsDeps,
): Promise<void> =>
  deps.database.transaction(async (bound) => {
    for (const sessionId of await forgetUploads(bound.db, target, kept)) await deps.projects.releaseUpload(bound, sessionId)
  })
