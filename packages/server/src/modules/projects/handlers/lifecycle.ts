import type { contract, Project } from '@berth/contract'
import type { Caller, Handlers, RequestContext } from '../../../http/handler.ts'
import { type Awaitable, thenSync } from '../../../platform/awaitable.ts'
import type { ProjectRow } from '../../../platform/db/tables/projects.ts'
import { refuse } from '../../../platform/failure.ts'
import type { ProjectsDeps } from '../deps.ts'
import { checkProject } from '../domains/domain-checks.ts'
import { normalizeHostname } from '../domains/normalize-hostname.ts'
import { refuseUnstorable } from '../fields.ts'
import { refuseUnlinked } from '../git/repository.ts'
import { updateProjectWebhook } from '../hostnames/delivery-address.ts'
import { freeHostname } from '../hostnames/hostnames.ts'
import { createProject } from '../lifecycle/create-project.ts'
import type { Deletion } from '../lifecycle/deletion.ts'
import { disableProject, enableProject } from '../lifecycle/power.ts'
import { deletionPreview, removedAndKept } from '../lifecycle/project-items.ts'
import { updateFromScan, updateProject } from '../lifecycle/update-project.ts'
import { changeProject } from '../operations/change-project.ts'
import { createProjectResponses, showInfo, showProjects, showRoutes } from '../records/records.ts'
import { refuseDeleting } from '../refuse-deleting.ts'
import { domainsOf, listProjects, type ProjectChanges } from '../store.ts'

type Rows = Partial<Handlers<typeof contract.projects>>

/** Handlers that create, read, change, enable, disable and delete projects. */
export function coreHandlers(deps: ProjectsDeps, deletion: Deletion) {
  const { db } = deps.database
  const responses = createProjectResponses(deps)
  const respond = (row: Awaitable<ProjectRow>) => thenSync(row, responses.one)
  const change = (project: ProjectRow, changes: ProjectChanges) => respond(changeProject(project, deps, () => changes))
  const update = (project: ProjectRow, body: Parameters<typeof updateProject>[1], { caller }: RequestContext) =>
    respond(updateProject(project, body, deps, caller))
  const create = async (body: Parameters<typeof createProject>[0], context: RequestContext) => {
    context.audit({ objectKind: 'project', made: 'prj' })
    return createProject(body, context.caller, deps)
  }

  return {
    list: ({ query }, { caller }) => {
      refuseUnstorable(query)
      return thenSync(listProjects(db, caller.organizationId, { ...query, onlyIds: caller.projectIds }), responses.list)
    },
    create: async ({ body }, context) => respond(create(body, context)),
    home: async (_, { caller }) => {
      const cloud = await deps.projectPorts.cloud?.list(caller)
      const { linked = false, reachable = false, projects = [] } = cloud ?? {}
      const data = [...(await allProjects(caller, deps)), ...projects].sort(newestFirst)
      return { data, cloud: { linked, reachable } }
    },
    ensure: async ({ body: { projectId, ...body } }, context) => {
      if (projectId) {
        const { row, warnings } = await updateFromScan(context.project, body, deps, context.caller)
        return { ...(await respond(row)), ...(warnings.length > 0 ? { warnings } : {}) }
      }
      const row = await create(body, context)
      context.setStatus(201)
      return respond(row)
    },
    get: (_, { project }) => respond(project),
    update: ({ body }, context) => update(context.project, body, context),
    remove: async ({ query: { force = false, deleteVolumes = false } }, { project }) => {
      const items = await deletion.remove(project, { force, deleteVolumes })
      return { data: { projectId: project.id, ...removedAndKept(items) } }
    },
    info: async (_, { project }) => ({ data: await showInfo(project, deps) }),
    deletionPreview: async (_, { project }) => ({
      data: { projectId: project.id, ...deletionPreview(await deletion.preview(project)) },
    }),
    enable: (_, { project }) => respond(enableProject(project, deps)),
    disable: (_, { project }) => respond(disableProject(project, deps)),
    retryRouting: async (_, { project }) => {
      refuseDeleting(project)
      await checkProject(project, deps)
      await deps.projectPorts.edge?.sync(project.id)
      return { data: { routes: await showRoutes(project, deps) } }
    },
    setAutoDeploy: ({ body }, { project }) => change(project, { autoDeploy: body.enabled }),
    setBranch: ({ body }, { project }) => {
      refuseUnstorable(body)
      refuseUnlinked(project)
      return change(project, { gitBranch: body.branch })
    },
    setWebhookDomain: async ({ body }, { project }) => {
      const webhookDomain = body.domain && (await requireOwnHostname(project, body.domain, deps))
      return respond(
        changeProject(project, deps, async (current, transaction) => {
          if (current.webhookDomain !== webhookDomain) await updateProjectWebhook(current, transaction)
          return { webhookDomain }
        }),
      )
    },
    setSleepMode: ({ body }, { project }) => change(project, { sleepMode: body.sleepMode }),
    setOptions: ({ body }, context) => update(context.project, body, context),
  } satisfies Rows
}

const newestFirst = (left: Project, right: Project) => Date.parse(right.createdAt) - Date.parse(left.createdAt)

async function allProjects(caller: Caller, deps: ProjectsDeps) {
  const projects: Project[] = []
  let cursor: string | null | undefined
  do {
    const query = { limit: 500, onlyIds: caller.projectIds, ...(cursor ? { cursor } : {}) }
    const { rows, nextCursor } = await listProjects(deps.database.db, caller.organizationId, query)
    projects.push(...(await showProjects(rows, deps)))
    cursor = nextCursor
  } while (cursor)
  return projects
}

async function requireOwnHostname(project: ProjectRow, requested: string, { database, settings }: ProjectsDeps): Promise<string> {
  const domains = (await domainsOf(database.db, [project.id])).get(project.id) ?? []
  const hostnames = [freeHostname(project, settings.baseDomain), ...domains.map((domain) => domain.hostname)]
  const hostname = hostnames.includes(requested.toLowerCase()) ? requested.toLowerCase() : normalizeHostname(requested)
  if (!hostnames.includes(hostname)) refuse('domain', `must be one of the project's own: ${hostnames.join(', ')}`)
  return hostname
}
