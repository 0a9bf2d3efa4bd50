import type { contract } from '@berth/contract'
import type { Handlers } from '../../../http/handler.ts'
import type { ProjectsDeps } from '../deps.ts'
import { setCloneToken, showCloneToken } from '../git/clone-token.ts'
import type { EnvironmentDeletion } from '../lifecycle/environment-deletion.ts'
import { deletionPreview, removedAndKept } from '../lifecycle/project-items.ts'
import { changeProject } from '../operations/change-project.ts'
import { showProject } from '../records/records.ts'
import { changeEnv, createEnvResponses, replacedVariables } from '../settings/env.ts'
import { createEnvironment, showEnvironments } from '../settings/environments.ts'
import { setResources, showResources } from '../settings/resources.ts'
import { listEnvironments } from '../store.ts'

type Rows = Partial<Handlers<typeof contract.projects>>

/** Handlers of environments, variables, clone token and resources. */
export function settingsHandlers(deps: ProjectsDeps, deletion: EnvironmentDeletion) {
  const { db } = deps.database
  const envResponse = createEnvResponses(deps)
  return {
    listEnvironments: async ({ query }, { project }) => {
      const { rows, nextCursor } = await listEnvironments(db, project.id, query)
      return { data: await showEnvironments(rows, project, deps), nextCursor }
    },
    createEnvironment: async ({ body }, context) => {
      context.audit({ objectKind: 'environment', made: 'env' })
      const row = await createEnvironment(context.project, body, deps)
      const [environment] = await showEnvironments([row], context.project, deps)
      return { data: environment! }
    },
    removeEnvironment: async ({ query: { force = false, deleteVolumes = false } }, { environment }) => {
      const items = await deletion.remove(environment, { force, deleteVolumes })
      const { projectId, slug } = environment
      return { data: { projectId, environment: slug, ...removedAndKept(items) } }
    },
    environmentDeletionPreview: async (_, { environment }) => {
      const { projectId, slug } = environment
      return { data: { projectId, environment: slug, ...deletionPreview(await deletion.preview(environment)) } }
    },
    setPreviewVariables: async ({ body }, { project }) => {
      const row = await changeProject(project, deps, () => ({ previewsUseProduction: body.fromProduction }))
      return { data: await showProject(row, deps) }
    },
    listEnv: ({ query }, { project }) => envResponse(project, query.environment ?? 'production'),
    changeEnv: async ({ body }, { project }) => {
      await changeEnv(project, body, deps)
      const warnings = replacedVariables(project, body)
      const response = await envResponse(project, body.environment ?? 'production')
      return warnings.length > 0 ? { ...response, warnings } : response
    },
    getCloneToken: (_, { project }) => ({ data: showCloneToken(project) }),
    setCloneToken: async ({ body }, { project }) => ({ data: await setCloneToken(project, body.token, deps) }),
    getResources: (_, { project }) => ({ data: showResources(project) }),
    setResources: async ({ body }, { project }) => ({ data: await setResources(project, body, deps) }),
  } satisfies Rows
}
