import { Failure } from '../../../platform/failure.ts'
import { job } from '../../../platform/jobs/declare.ts'
import type { ProjectsDeps } from '../deps.ts'
import { deliveryAddress, moveKind, type RepositoryWithHook } from '../hostnames/delivery-address.ts'
import { hookKind } from '../hostnames/hook-request.ts'
import { findAnyProject, present } from '../store.ts'
import { repositoryRef } from './project-remote.ts'

/**
 * Creates or repairs the push webhook on the repository of a project with auto-deploy, as far as the connection's permissions
 * allow.
 */
export const hookJob = (deps: ProjectsDeps) =>
  job<{ projectId: string }, unknown>(hookKind, {
    deadlineMs: 60_000,
    maxAttempts: 6,
    async run({ projectId }) {
      const project = await findAnyProject(deps.database.db, projectId)
      if (!project || project.deletingSince !== null || !project.autoDeploy || !present.includes(project.presence)) return
      const repository = repositoryRef(project, deps)
      const { gitHost } = deps.projectPorts
      await gitHost?.ensureWebhook(project.organizationId, repository).catch(logPermanentFailure({ projectId }, deps))
    },
  })

/** Updates an existing webhook to the current delivery address; creates none. */
export const updateWebhookJob = (deps: ProjectsDeps) =>
  job<RepositoryWithHook, unknown>(moveKind, {
    deadlineMs: 60_000,
    maxAttempts: 6,
    async run({ organizationId, ...repository }) {
      const { gitHost } = deps.projectPorts
      const url = (await gitHost?.webhookOf(organizationId, repository))?.url
      const address = (await deliveryAddress(organizationId, repository, deps)) ?? deps.publicUrl()
      if (!gitHost || !url || new URL(url).origin === new URL(address).origin) return
      await gitHost
        .registerWebhook(organizationId, repository)
        .catch(logPermanentFailure({ organizationId, ...repository }, deps))
    },
  })

/**
 * Rethrows transient errors, so that the job is retried. A permanent refusal is only logged; `GET /projects/:id/git` shows the
 * webhook's state.
 */
const logPermanentFailure =
  (ids: object, { log }: ProjectsDeps) =>
  (error: unknown): void => {
    if (!(error instanceof Failure) || error.code === 'remote_unreachable' || error.code === 'git_host_limited') throw error
    log.info({ ...ids, reason: error.message }, 'projects: webhook of a repository not updated')
  }
