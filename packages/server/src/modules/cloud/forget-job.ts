import { job, sharedKind } from '../../platform/jobs/declare.ts'
import { deleteCloudProject } from './cloud-project-store.ts'
import type { CloudDeps } from './deps.ts'

export const forgetKind = sharedKind<{ projectId: string }>('cloud.forget')

/** Removes the kept copy of a project that was deleted in the cloud. May run twice. */
export const forgetJob = (deps: CloudDeps) =>
  job<{ projectId: string }, unknown>(forgetKind, {
    deadlineMs: 3_600_000,
    maxAttempts: Number.MAX_SAFE_INTEGER,
    async run({ projectId }) {
      await deps.transferPorts.removeCopy?.(projectId)
      await deleteCloudProject(deps.database.db, projectId)
    },
  })

/** Removes the local copy after the cloud has confirmed a forwarded `DELETE /projects/:id`. */
export const enqueueForget = (projectId: string, { database }: Pick<CloudDeps, 'database'>): Promise<unknown> =>
  database.transaction(({ enqueue }) =>
    enqueue(forgetKind.of({ projectId }), { projectId }, { uniqueKey: `${forgetKind.kind}:${projectId}` }),
  )
