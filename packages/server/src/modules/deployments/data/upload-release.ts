import type { DeploymentsDeps } from '../deps.ts'
import { detachUploads } from '../store.ts'

/** Releases the uploads of ended deployments, except those in `keptIds`. */
export const releaseUploads = (
  target: { projectId: string; environment?: string },
  keptIds: readonly string[],
  deps: DeploymentsDeps,
): Promise<void> =>
  deps.database.transaction(async (transaction) => {
    for (const sessionId of await detachUploads(transaction.db, target, keptIds))
      await deps.projects.releaseUpload(transaction, sessionId)
  })
