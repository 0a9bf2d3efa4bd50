import { projectTemplateJson } from '../../../platform/db/json-columns/projects.ts'
import type { LinkRow } from '../../../platform/db/tables/projects.ts'
import type { ProjectsDeps } from '../deps.ts'
import { allLinks } from '../link-store.ts'
import { openEnv, variableSources } from '../settings/env.ts'
import { findAnyProject } from '../store.ts'
import { hasReference } from './references.ts'
import { type ScopeLink, UnresolvedVariable, type VariableScope } from './resolve-variables.ts'
import { findProjectTemplate } from './template-store.ts'

interface ScopeOptions {
  fromFork?: boolean
}

/**
 * Loads the variables and links of an environment, and those of the linked services. A service's own links are loaded only if its
 * variables contain a reference.
 */
export const loadScope = (projectId: string, environment: string, deps: ProjectsDeps, options: ScopeOptions = {}) =>
  new ScopeLoader(deps).load(projectId, environment, options)

/** Links whose variables an environment gets. Of two links that set the same variable, the later one takes precedence. */
export async function linksOfEnvironment(
  projectId: string,
  environment: string,
  { fromFork = false }: ScopeOptions,
  deps: ProjectsDeps,
): Promise<LinkRow[]> {
  const all = await allLinks(deps.database.db, projectId)
  if (all.length === 0) return []
  const sources = await variableSources(projectId, environment, fromFork, deps)
  return sources.flatMap((slug) => all.filter((link) => link.environment === slug))
}

class ScopeLoader {
  readonly #deps: ProjectsDeps
  /** Scopes by project and environment. Each is loaded once, so that two services that link each other end. */
  readonly #scopes = new Map<string, VariableScope>()

  constructor(deps: ProjectsDeps) {
    this.#deps = deps
  }

  async load(projectId: string, environment: string, options: ScopeOptions = {}, isService = false): Promise<VariableScope> {
    const id = `${projectId}/${environment}`
    const known = this.#scopes.get(id)
    if (known) return known
    const { values, secretKeys } = await openEnv(projectId, environment, this.#deps, options)
    const slug = (await findAnyProject(this.#deps.database.db, projectId))?.slug ?? projectId
    const links: ScopeLink[] = []
    const scope = { id, slug, values, secretKeys: new Set(secretKeys), links }
    this.#scopes.set(id, scope)
    if (isService && !Object.values(values).some(hasReference)) return scope
    for (const link of await linksOfEnvironment(projectId, environment, options, this.#deps)) links.push(await this.#linkOf(link))
    return scope
  }

  async #linkOf({ id, projectId, serviceProjectId, prefix, host }: LinkRow): Promise<ScopeLink> {
    const { db } = this.#deps.database
    const [project, service, template] = await Promise.all([
      findAnyProject(db, projectId),
      findAnyProject(db, serviceProjectId),
      findProjectTemplate(db, serviceProjectId),
    ])
    if (!service || service.organizationId !== project?.organizationId || template?.port == null)
      throw new UnresolvedVariable('A linked service no longer exists. Delete the link.')
    if (service.deletingSince !== null || service.presence !== 'here')
      throw new UnresolvedVariable(
        `The linked service ${service.slug} ${service.deletingSince === null ? 'was transferred to another instance' : 'is being deleted'}. Delete the link, or link another service.`,
      )
    return {
      id,
      slug: service.slug,
      prefix: prefix ?? '',
      host,
      port: template.port,
      variables: projectTemplateJson.linkVariables(template),
      service: await this.load(serviceProjectId, 'production', {}, true),
    }
  }
}
