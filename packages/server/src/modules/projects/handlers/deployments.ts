import type { contract } from '@berth/contract'
import type { Handlers } from '../../../http/handler.ts'
import { thenSync } from '../../../platform/awaitable.ts'
import type { ProjectsDeps } from '../deps.ts'
import { environmentSlug } from '../require-environment.ts'

const noList = Object.freeze({ data: [], nextCursor: null })

type Rows = Partial<Handlers<typeof contract.projects>>

/** Handlers of a project's deployments, which the deployments module stores. */
export function deploymentHandlers({ database, projectPorts, streamTokens }: ProjectsDeps) {
  return {
    listDeployments: ({ query: { environment, ...query } }, { project }) =>
      thenSync(
        environmentSlug(database.db, project.id, environment),
        (slug) =>
          projectPorts.deployments?.list(project.id, { ...query, ...(slug === undefined ? {} : { environment: slug }) }) ??
          noList,
      ),
    openDeploymentSession: async (_, { project, caller }) => {
      const newest = await projectPorts.deployments?.newest(project.id)
      if (!newest) return { data: null }
      const streamUrl = `/api/deployments/${newest.id}/stream`
      const { token, expiresAt } = await streamTokens.mint(streamUrl, caller)
      return { data: { deploymentId: newest.id, status: newest.status, streamUrl, token, expiresAt } }
    },
  } satisfies Rows
}
