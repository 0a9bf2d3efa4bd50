import { type Awaitable, thenSync } from '../../platform/awaitable.ts'
import type { Db } from '../../platform/db/schema.ts'
import type { EnvironmentRow } from '../../platform/db/tables/projects.ts'
import { refuse } from '../../platform/failure.ts'
import { findEnvironment, present } from './store.ts'

/** Finds the environment that a body, query or path names, by slug or id; responds 400 where it does not exist. */
export function requireEnvironment(db: Db, projectId: string, name: string): Awaitable<EnvironmentRow> {
  if (name.includes('\0')) return refuseUnknown(name)
  return thenSync(findEnvironment(db, projectId, name), (environment) => environment ?? refuseUnknown(name))
}

/** The environment's slug; undefined where no name was given. */
export const environmentSlug = (db: Db, projectId: string, name: string | undefined): Awaitable<string | undefined> =>
  name === undefined ? undefined : thenSync(requireEnvironment(db, projectId, name), ({ slug }) => slug)

/** Resolves an environment name in a list of the whole organisation: a slug may match several projects, an id matches one. */
export async function environmentInOrganization(
  db: Db,
  organizationId: string,
  name: string,
): Promise<{ environment: string; projectId?: string }> {
  const isId = name.includes('_')
  const environment = name.includes('\0')
    ? undefined
    : await db
        .selectFrom('environments')
        .innerJoin('projects', 'projects.id', 'environments.projectId')
        .select(['environments.slug', 'environments.projectId'])
        .where('projects.organizationId', '=', organizationId)
        .where('projects.presence', 'in', present)
        .where(isId ? 'environments.id' : 'environments.slug', '=', name)
        .limit(1)
        .executeTakeFirst()
  if (!environment) return refuseUnknown(name)
  return { environment: environment.slug, ...(isId ? { projectId: environment.projectId } : {}) }
}

const refuseUnknown = (name: string): never => refuse('environment', `environment ${JSON.stringify(name)} does not exist`)
