import type { Loaders } from '../../http/handler.ts'
import type { ProjectsDeps } from './deps.ts'
import { findProject } from './store.ts'

/** How the guard finds what the routes of projects name. */
export const projectsLoaders = ({ database: { db } }: ProjectsDeps): Pick<Loaders, 'project'> => ({
  // Some routes of other modules call it :projectId. PostgreSQL takes no NUL, not even to look for.
  project: ({ projectId, id = projectId }, { organizationId }) =>
    !id || id.includes('\0') ? undefined : findProject(db, organizationId, id),
})
