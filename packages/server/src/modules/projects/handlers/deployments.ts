import type { contract } from '@berth/contract'
import type { Handlers } from '../../../http/handler.ts'
import type { ProjectsDeps } from '../deps.ts'
import { environmentSlug } from '../require-environment.ts'

type Rows = Partial<Handlers<typeof contract.projects>>

/** Handlers of a project's deployments, which the deployments module stores. */
export function deploymentHandlers({ database, projectPorts, streamTokens }: ProjectsDeps) {
  return {
    listDeployments: async ({ query: { environment, ...query } }, { project }) => {
      const slug = await environmentSlug(database.db, project.id, environment)
      const filter = { ...query, ...(slug === undefined ? {} : { environment: slug }) }
      return (await projectPorts.deployments?.list(project.id, filter)) ?? { data: [], nextCursor: null }
    },
    openDeploymentSession: async (_, { project, caller }) => {
      const newest = await projectPorts.deployments?.newest(project.id)
      if (!newest) return { data: null }
      const streamUrl = `/api/deployments/${newest.id}/stream`
      const { token, expiresAt } = await streamTokens.mint(streamUrl, caller)
      return { data: { deploymentId: newest.id, status: newest.status, streamUrl, token, expiresAt } }
    },
  } satisfies Rows
}
