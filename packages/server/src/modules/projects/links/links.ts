import { type Link, type LinkBody, limits } from '@berth/contract'
import { iso } from '../../../platform/db/columns.ts'
import { newId } from '../../../platform/db/ids.ts'
import { projectTemplateJson } from '../../../platform/db/json-columns/projects.ts'
import type { Db } from '../../../platform/db/schema.ts'
import type { LinkRow, ProjectRow, ProjectTemplateRow } from '../../../platform/db/tables/projects.ts'
import { isUniqueViolation } from '../../../platform/db/violations.ts'
import { fail, refuse } from '../../../platform/failure.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import { nowOf, type ProjectsDeps } from '../deps.ts'
import { allLinks, deleteLinkRow, insertLinkRow, linksTo, raiseLinkedVersions } from '../link-store.ts'
import { changeProject } from '../operations/change-project.ts'
import { lockProject } from '../operations/operation.ts'
import { requireEnvironment } from '../require-environment.ts'
import { findAnyProject, listVariables } from '../store.ts'
import { findProjectTemplate } from './template-store.ts'

/** A service that projects can be linked to. */
interface Service {
  project: ProjectRow
  template: ProjectTemplateRow
}

/** Domain of host names on the networks of links; reserved for private use. */
const privateDomain = 'berth.internal'

/** Creates a link. The caller has write access to both projects. Returns warnings about variables that the project sets itself. */
export async function createLink(
  project: ProjectRow,
  serviceProject: ProjectRow,
  { prefix, environment: named }: Pick<LinkBody, 'prefix' | 'environment'>,
  createdBy: string | null,
  deps: ProjectsDeps,
): Promise<{ link: LinkRow; warnings: string[] }> {
  const service = await serviceOf(project, serviceProject, deps)
  const row = await insertLink(project, service, { prefix: prefix || null, named: named ?? 'production', createdBy }, deps)
  await deps.projectPorts.secrets?.refresh(project.id)
  const own = new Set((await listVariables(deps.database.db, project.id, row.environment)).map(({ key }) => key))
  const hidden = variablesOf(row, service.template).filter((name) => own.has(name))
  return {
    link: row,
    warnings: hidden.map((name) => `The project has its own variable ${name}, which replaces the one of the link.`),
  }
}

async function serviceOf(project: ProjectRow, serviceProject: ProjectRow, deps: ProjectsDeps): Promise<Service> {
  const { name, serverId } = serviceProject
  if (serviceProject.id === project.id) refuse('serviceProjectId', 'must not be the project itself')
  const template = await findProjectTemplate(deps.database.db, serviceProject.id)
  if (!template?.service || template.port === null)
    fail('conflict', { message: `${name} is not a service that can be linked. Create one with: berth add <template>` })
  if (serverId !== project.serverId)
    fail('conflict', { message: `${project.name} and ${name} run on different machines. A link needs both on the same one.` })
  if ((await deps.projectPorts.running?.driverFor(serverId)) === 'process')
    fail('conflict', {
      message: 'Links need Docker, and this instance runs plain processes. Install Docker and start Berth again.',
    })
  return { project: serviceProject, template }
}

interface NewLink {
  prefix: string | null
  /** Slug or id of the environment. */
  named: string
  createdBy: string | null
}

async function insertLink(project: ProjectRow, service: Service, link: NewLink, deps: ProjectsDeps): Promise<LinkRow> {
  const { prefix, named, createdBy } = link
  let row: LinkRow | undefined
  try {
    await changeProject(project, deps, async ({ id, envVersion }, transaction) => {
      const { db } = transaction
      // Without this lock the service could be deleted meanwhile without a warning. When two projects link each other at once, the
      // database ends the deadlock and the transaction is retried.
      await lockProject(transaction, service.project.id)
      const { slug: environment, deletingSince } = await requireEnvironment(db, id, named)
      if (deletingSince !== null) fail('conflict', { message: `The environment ${environment} is being deleted` })
      const current = await findAnyProject(db, service.project.id)
      if (!current || current.deletingSince !== null) fail('conflict', { message: `${service.project.name} is being deleted` })
      const host = await freeHost(id, current, db)
      row = {
        id: newId('lnk'),
        projectId: id,
        environment,
        serviceProjectId: current.id,
        prefix,
        host,
        createdBy,
        createdAt: nowOf(deps),
      }
      await refuseOverLimit(row, service, db)
      await refuseSameVariables(row, service, db)
      await insertLinkRow(db, row)
      return environment === 'production' ? { envVersion: envVersion + 1 } : {}
    })
  } catch (error) {
    if (isUniqueViolation(error)) fail('conflict', { message: alreadyLinked(service), cause: error })
    throw error
  }
  return row!
}

const alreadyLinked = ({ project }: Service) => `The project is already linked to ${project.name}`

async function refuseOverLimit({ projectId, serviceProjectId }: LinkRow, { project }: Service, db: Db): Promise<void> {
  if ((await allLinks(db, projectId)).length >= limits.linksOfProject)
    fail('conflict', { message: `The project has ${limits.linksOfProject} links, the maximum. Delete one first.` })
  if ((await linksTo(db, serviceProjectId)).length >= limits.linksOfService)
    fail('conflict', { message: `${project.name} has ${limits.linksOfService} links, the maximum. Add another service.` })
}

async function refuseSameVariables(row: LinkRow, service: Service, db: Db): Promise<void> {
  const names = new Set(variablesOf(row, service.template))
  for (const other of await allLinks(db, row.projectId, row.environment)) {
    if (other.serviceProjectId === row.serviceProjectId) fail('conflict', { message: alreadyLinked(service) })
    const template = await findProjectTemplate(db, other.serviceProjectId)
    const same = template && variablesOf(other, template).find((name) => names.has(name))
    if (same)
      fail('conflict', {
        field: 'prefix',
        message: `${same} is already set by the link to ${(await findAnyProject(db, other.serviceProjectId))?.name}. Choose a prefix with --prefix.`,
      })
  }
}

/**
 * A host name that no link of the project to another service uses. The links of all environments count, because a preview gets
 * those of several environments. A renamed service keeps its old name in existing links.
 */
async function freeHost(projectId: string, { id: serviceId, slug }: ProjectRow, db: Db): Promise<string> {
  const others = (await allLinks(db, projectId)).filter(({ serviceProjectId }) => serviceProjectId !== serviceId)
  const taken = new Set(others.map(({ host }) => host))
  for (let number = 1; ; number++) {
    const host = `${slug}${number === 1 ? '' : `-${number}`}.${privateDomain}`
    if (!taken.has(host)) return host
  }
}

/** Deletes the link; `onDeleted` runs in the same transaction. */
export async function deleteLink(
  link: LinkRow,
  deps: ProjectsDeps,
  onDeleted: (transaction: TransactionContext) => Promise<unknown>,
): Promise<void> {
  const project = (await findAnyProject(deps.database.db, link.projectId)) ?? fail('not_found')
  await changeProject(project, deps, async ({ envVersion }, transaction) => {
    if (!(await deleteLinkRow(transaction.db, link.id))) fail('not_found')
    await onDeleted(transaction)
    return link.environment === 'production' ? { envVersion: envVersion + 1 } : {}
  })
}

/**
 * Deletes the links of a project or environment that is being deleted, and the links of other projects to that project. `onDeleted`
 * runs in the same transaction.
 */
export const deleteAllLinks = (
  { projectId, environment }: { projectId: string; environment?: string },
  { database }: Pick<ProjectsDeps, 'database'>,
  onDeleted: (links: readonly LinkRow[], transaction: TransactionContext) => Promise<unknown>,
): Promise<void> =>
  database.transaction(async (transaction) => {
    const { db } = transaction
    const to = environment === undefined ? await linksTo(db, projectId) : []
    if (to.length > 0) await raiseLinkedVersions(db, projectId)
    const links = [...(await allLinks(db, projectId, environment)), ...to]
    for (const { id } of links) await deleteLinkRow(db, id)
    await onDeleted(links, transaction)
  })

const variablesOf = ({ prefix }: Pick<LinkRow, 'prefix'>, template: ProjectTemplateRow): string[] =>
  Object.keys(projectTemplateJson.linkVariables(template)).map((name) => `${prefix ?? ''}${name}`)

export async function showLink(row: LinkRow, { database: { db } }: Pick<ProjectsDeps, 'database'>): Promise<Link> {
  const { id, projectId, environment, serviceProjectId, prefix, host, createdAt } = row
  const [service, template] = await Promise.all([findAnyProject(db, serviceProjectId), findProjectTemplate(db, serviceProjectId)])
  return {
    id,
    projectId,
    environment,
    serviceProjectId,
    prefix,
    host,
    service: { name: service?.name ?? serviceProjectId, slug: service?.slug ?? '' },
    variables: template ? variablesOf(row, template) : [],
    createdAt: iso(createdAt),
  }
}
