import { type contract, isLevelAtLeast, levelOfRole } from '@berth/contract'
import type { Caller, Handlers } from '../../http/handler.ts'
import type { ProjectRow } from '../../platform/db/tables/projects.ts'
import { fail } from '../../platform/failure.ts'
import { listLinks, ownedProjects } from '../projects/index.ts'
import type { LinksDeps } from './deps.ts'
import { enqueueNetworkRemoval } from './link-network-job.ts'

export function linksHandlers(deps: LinksDeps): Handlers<typeof contract.links> {
  const { links } = deps.projects
  return {
    list: async ({ query }, { project }) => {
      const { rows, nextCursor } = await listLinks(deps.database.db, project.id, query)
      return { data: await Promise.all(rows.map((row) => links.show(row))), nextCursor }
    },
    create: async ({ body }, { project, caller, audit }) => {
      const service = await findService(body.serviceProjectId, caller, deps)
      audit({ objectKind: 'link', made: 'lnk' })
      const { link, warnings } = await links.create(project, service, body, caller.userId)
      const data = await links.show(link)
      return warnings.length > 0 ? { data, warnings } : { data }
    },
    remove: async (_, { link }) => {
      const project = (await deps.projects.find(link.projectId)) ?? fail('not_found')
      await links.remove(link, (transaction) => enqueueNetworkRemoval(link.id, project, transaction))
      return undefined
    },
  }
}

/** The service that the body names. A link hands out its credentials, so the caller needs write access to it as well. */
async function findService(id: string, caller: Caller, deps: LinksDeps): Promise<ProjectRow> {
  const isOwned = !id.includes('\0') && (await ownedProjects(deps.database.db, caller.organizationId, [id])).has(id)
  const service = isOwned ? await deps.projects.find(id) : undefined
  if (!service) fail('not_found', { field: 'serviceProjectId', message: 'This service does not exist' })
  const level = (await deps.grantedLevel(caller, id)) ?? levelOfRole[caller.role]
  if (!isLevelAtLeast(level, 'write'))
    fail('forbidden', {
      permission: 'project:write',
      field: 'serviceProjectId',
      message: `You need write access to ${service.name}, because a link gives its credentials to the project.`,
    })
  return service
}
