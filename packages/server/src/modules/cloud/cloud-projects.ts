import type { Project } from '@berth/contract'
import type { CloudApi } from '../../drivers/cloud-api/cloud-api.ts'
import type { Caller } from '../../http/handler.ts'
import type { Failure } from '../../platform/failure.ts'
import type { CloudProjects } from '../projects/index.ts'
import type { CloudDeps } from './deps.ts'
import type { Link, Links } from './links.ts'
import { CloudAnswerTooLong, requestCloud, usualBytes } from './request-cloud.ts'

/** Time limit for all pages together. */
const limitMs = 4_500
const maxRequests = 40
const pageSize = 200
const minPageSize = 10
/** Limit for all pages together: the list is returned as a whole. */
const maxBytes = 4 * 1024 * 1024

interface CloudList {
  linked: boolean
  reachable: boolean
  projects: Project[]
}

/** The cloud as the projects module sees it. */
export function cloudProjects(deps: CloudDeps, links: Links): CloudProjects {
  return { list: (caller) => listCloudProjects(caller, links, deps) }
}

/** The projects of the linked account that the caller's token may see. An unreachable cloud is reported with an empty list. */
async function listCloudProjects(
  caller: Pick<Caller, 'organizationId' | 'projectIds'>,
  links: Links,
  { api, log }: CloudDeps,
): Promise<CloudList> {
  const link = await links.of(caller.organizationId)
  if (!link) return { linked: false, reachable: false, projects: [] }
  try {
    const projects = await allPages(link, api)
    const { projectIds } = caller
    return { linked: true, reachable: true, projects: projectIds ? projects.filter(({ id }) => projectIds.has(id)) : projects }
  } catch (error) {
    log.warn({ err: error, organizationId: caller.organizationId }, 'cloud: projects could not be listed')
    return { linked: true, reachable: false, projects: [] }
  }
}

/** Returns all projects. Throws if a limit ends the list early: an incomplete list is never returned as complete. */
async function allPages({ address }: Link, api: CloudApi): Promise<Project[]> {
  const abort = AbortSignal.timeout(limitMs)
  const projects: Project[] = []
  let bytes = 0
  let cursor: string | null = null
  let limit = pageSize
  for (let requests = 0; requests < maxRequests; requests += 1) {
    const query = new URLSearchParams({ limit: String(limit), ...(cursor ? { cursor } : {}) })
    const answer = await requestCloud(api, address, { method: 'GET', path: `/api/projects?${query}`, abort }).catch(
      (error: Failure) => {
        // A page that exceeds the size limit is requested again with half its length.
        if (!(error.cause instanceof CloudAnswerTooLong) || limit <= minPageSize) throw error
        return null
      },
    )
    if (answer === null) {
      limit = Math.max(minPageSize, Math.floor(limit / 2))
      continue
    }
    const { status, body, bytes: pageBytes } = answer
    if (status !== 200 || !Array.isArray(body?.data)) throw new Error(`the cloud answered ${status}`)
    bytes += pageBytes
    if (bytes > maxBytes) throw new Error(`the cloud lists more than ${maxBytes / 1024 / 1024} MB of projects`)
    for (const project of body.data) if (isProject(project)) projects.push({ ...project, location: 'cloud' as const })
    cursor = typeof body.nextCursor === 'string' ? body.nextCursor : null
    if (cursor === null) return projects
    // One page of large projects does not slow down the rest of the list.
    if (pageBytes < usualBytes / 4) limit = Math.min(pageSize, limit * 2)
  }
  throw new Error(`the cloud lists more projects than ${maxRequests} requests can read`)
}

/** Checks the fields by which the list is sorted and shown. */
const isProject = (one: Project | null): one is Project => typeof one?.id === 'string' && typeof one.createdAt === 'string'
