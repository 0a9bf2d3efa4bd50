import type { Loaders } from '../../http/handler.ts'
import { nowOf, type ProjectsDeps } from './deps.ts'
import { namedDomain } from './domains/named-domain.ts'
import { requireEnvironment } from './require-environment.ts'
import { findRule } from './rules/rules.ts'
import { findProject } from './store.ts'
import { findUploadSession } from './uploads/uploads.ts'

type Kinds = 'project' | 'environment' | 'domain' | 'routeRule' | 'uploadSession'

/** Loaders of the objects in route paths. */
export function projectsLoaders(deps: ProjectsDeps): Pick<Loaders, Kinds> {
  const { db } = deps.database
  return {
    // Some routes of other modules name the parameter :projectId.
    project: ({ projectId, id = projectId }, { organizationId }) => (isId(id) ? findProject(db, organizationId, id) : undefined),
    environment: async ({ id, environment }, { organizationId }) =>
      isId(id) && isId(environment) && (await findProject(db, organizationId, id))
        ? requireEnvironment(db, id, environment)
        : undefined,
    domain: async ({ id, hostname }, { organizationId }) => {
      const project = isId(id) ? await findProject(db, organizationId, id) : undefined
      return project && hostname ? namedDomain(project, hostname, deps) : undefined
    },
    routeRule: ({ id, ruleId }, { organizationId }) =>
      isId(id) && isId(ruleId) ? findRule(db, organizationId, id, ruleId) : undefined,
    // An expired session counts as missing.
    uploadSession: ({ sessionId }, { organizationId }) =>
      isId(sessionId) ? findUploadSession(db, organizationId, sessionId, nowOf(deps)) : undefined,
  }
}

/** PostgreSQL refuses a query with NUL in a value. */
const isId = (text: string | undefined): text is string => !!text && !text.includes('\0')
