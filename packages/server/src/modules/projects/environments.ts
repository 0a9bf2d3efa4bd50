import type { Environment } from '@berth/contract'
import { iso } from '../../db/columns.ts'
import { newId } from '../../db/ids.ts'
import type { EnvironmentRow, ProjectRow } from '../../db/tables/projects.ts'
import { fail } from '../../failure.ts'
import { environmentHostname, urlOf, urlSettings } from './addresses.ts'
import { changeProject } from './change-project.ts'
import { nowOf, type ProjectsDeps } from './deps.ts'
import { refuseUnstorable } from './fields.ts'
import { showRoutes } from './records.ts'
import { chanceSlug, slugFrom } from './slug.ts'
import { insertEnvironment, newestEnvironmentAt } from './store.ts'

export interface EnvironmentWishes {
  name: string
  slug?: string
  type?: EnvironmentRow['type']
  branch?: string | null
}

export async function createEnvironment(
  project: ProjectRow,
  wishes: EnvironmentWishes,
  deps: ProjectsDeps,
): Promise<EnvironmentRow> {
  refuseUnstorable(wishes)
  const name = wishes.name.trim()
  const row: EnvironmentRow = {
    id: newId('env'),
    projectId: project.id,
    name,
    slug: wishes.slug ?? slugFrom(name) ?? chanceSlug('env'),
    type: wishes.type ?? 'preview',
    branch: wishes.branch ?? null,
    createdAt: nowOf(deps),
  }
  await changeProject(project, deps, async (_, { db }) => {
    // Later than all before it, whatever the clock says: the order of the list is the order of making.
    row.createdAt = Math.max(row.createdAt, (await newestEnvironmentAt(db, project.id)) + 1)
    if (!(await insertEnvironment(db, row))) fail('slug_taken', { field: 'slug' })
    return {}
  })
  return row
}

/** Production is where the project's primary route leads; each other one has a host name of its own, a worker's none. */
export async function showEnvironments(
  rows: readonly EnvironmentRow[],
  project: ProjectRow,
  deps: ProjectsDeps,
): Promise<Environment[]> {
  const hostname = (slug: string) => environmentHostname(project, slug, deps.settings.baseDomain)
  const routes = await showRoutes(project, deps)
  const urlFor = (slug: string) => {
    if (slug === 'production') return routes.find((route) => route.primary)?.url ?? null
    if (project.type === 'worker') return null
    return urlOf(hostname(slug), deps.neighbours.edge?.standing(hostname(slug))?.tls ?? 'none', urlSettings(deps))
  }
  return rows.map(({ id, projectId, name, slug, type, branch, createdAt }) => ({
    ...{ id, projectId, name, slug, type, branch },
    url: urlFor(slug),
    createdAt: iso(createdAt),
  }))
}
