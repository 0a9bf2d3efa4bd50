import type { contract } from '@berth/contract'
import type { Handlers } from '../../http/handler.ts'
import type { ProjectsDeps } from './deps.ts'

type Rows = Partial<Handlers<typeof contract.projects>>

/** The project's view of its deployments, which live in the module above. */
export function deploymentHandlers({ projectPorts, streamTokens }: ProjectsDeps) {
  return {
    listDeployments: async ({ query }, { project }) =>
      (await projectPorts.deployments?.list(project.id, query)) ?? { data: [], nextCursor: null },
    openDeploymentSession: async (_, { project, caller }) => {
      const newest = await projectPorts.deployments?.newest(project.id)
      if (!newest) return { data: null }
      const streamUrl = `/api/deployments/${newest.id}/stream`
      const { token, expiresAt } = await streamTokens.mint(streamUrl, caller)
      return { data: { deploymentId: newest.id, status: newest.status, streamUrl, token, expiresAt } }
    },
  } satisfies Rows
}
