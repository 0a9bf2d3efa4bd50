import type { Project } from '@berth/contract'
import type { CloudApi } from '../../drivers/cloud-api/cloud-api.ts'
import type { Caller } from '../../http/handler.ts'
import type { CloudProjects } from '../projects/index.ts'
import { ask } from './ask.ts'
import type { CloudDeps } from './deps.ts'
import type { Link, Links } from './links.ts'
import { transfer } from './transfers/start-transfer.ts'

/** Over all pages together. */
const limitMs = 4_500
const mostPages = 20

interface CloudList {
  linked: boolean
  reachable: boolean
  projects: Project[]
}

/** What the projects module is told of the cloud. */
export function cloudProjects(deps: CloudDeps, links: Links): CloudProjects {
  const towards =
    (direction: 'to_cloud' | 'to_self_hosted'): CloudProjects['transferToCloud'] =>
    (projectId, project, options, caller) =>
      transfer({ projectId, project, direction, options, caller }, links, deps)
  return {
    list: (caller) => listCloudProjects(caller, links, deps.api),
    transferToCloud: towards('to_cloud'),
    transferToSelfHosted: towards('to_self_hosted'),
  }
}

/** The projects of the linked account, as far as the caller's token may see them. A cloud that is away has none and says so. */
async function listCloudProjects(
  caller: Pick<Caller, 'organizationId' | 'projectIds'>,
  links: Links,
  api: CloudApi,
): Promise<CloudList> {
  const link = await links.of(caller.organizationId)
  if (!link) return { linked: false, reachable: false, projects: [] }
  try {
    const projects = await allPages(link, api)
    const { projectIds } = caller
    return { linked: true, reachable: true, projects: projectIds ? projects.filter(({ id }) => projectIds.has(id)) : projects }
  } catch {
    return { linked: true, reachable: false, projects: [] }
  }
}

async function allPages({ address }: Link, api: CloudApi): Promise<Project[]> {
  const abort = AbortSignal.timeout(limitMs)
  const projects: Project[] = []
  let cursor: string | null = null
  for (let page = 0; page < mostPages; page += 1) {
    const query = new URLSearchParams({ limit: '500', ...(cursor ? { cursor } : {}) })
    const { status, body } = await ask(api, address, { method: 'GET', path: `/api/projects?${query}`, abort })
    if (status !== 200 || !Array.isArray(body?.data)) throw new Error(`the cloud answered ${status}`)
    projects.push(...(body.data as Project[]))
    cursor = body.nextCursor ?? null
    if (cursor === null) break
  }
  return projects.map((project) => ({ ...project, location: 'cloud' as const }))
}
