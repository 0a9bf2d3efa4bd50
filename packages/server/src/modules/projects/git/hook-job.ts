import { Failure } from '../../../platform/failure.ts'
import { type JobKind, job } from '../../../platform/jobs/declare.ts'
import type { ProjectsDeps } from '../deps.ts'
import { findAnyProject } from '../store.ts'
import { repositoryAt } from './project-remote.ts'

export const hookKind: JobKind<{ projectId: string }> = { kind: 'projects.register-webhook' }

/** Pushes to a repository that was linked are to arrive: its hook is put there, as far as the connection may. Nobody waits for the host. */
export const hookJob = (deps: ProjectsDeps) =>
  job<{ projectId: string }, unknown>(hookKind.kind, {
    deadlineMs: 60_000,
    maxAttempts: 6,
    async run({ projectId }) {
      const project = await findAnyProject(deps.database.db, projectId)
      if (!project || project.deletingSince !== null || !project.autoDeploy) return
      const at = repositoryAt(project, deps)
      const { gitHost } = deps.projectPorts
      if (!gitHost || (await gitHost.webhookOf(project.organizationId, at)).active) return
      await gitHost.registerWebhook(project.organizationId, at).catch((error: unknown) => {
        // What may pass comes back; what is refused now will be refused again, and `GET /projects/:id/git` says that there is no hook.
        if (!(error instanceof Failure) || error.code === 'remote_unreachable' || error.code === 'git_host_limited') throw error
        deps.log.info({ projectId, words: error.message }, 'no webhook was put on the repository that was linked')
      })
    },
  })
