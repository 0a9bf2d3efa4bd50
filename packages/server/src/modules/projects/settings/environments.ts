import type { Environment } from '@berth/contract'
import { iso, isoOrNull } from '../../../platform/db/columns.ts'
import { newId } from '../../../platform/db/ids.ts'
import type { EnvironmentRow, ProjectRow } from '../../../platform/db/tables/projects.ts'
import { fail } from '../../../platform/failure.ts'
import { nowOf, type ProjectsDeps } from '../deps.ts'
import { refuseUnstorable } from '../fields.ts'
import { environmentHostname, urlOf, urlSettings } from '../hostnames/hostnames.ts'
import { changeProject } from '../operations/change-project.ts'
import { refuseOverQuota } from '../quotas/quotas.ts'
import { showProject } from '../records/records.ts'
import { requireEnvironment } from '../require-environment.ts'
import { randomSlug, slugFrom } from '../slug.ts'
import { insertEnvironment, newestEnvironmentAt } from '../store.ts'
import { copyVariables } from './env.ts'

export interface EnvironmentOptions {
  name: string
  slug?: string
  type?: EnvironmentRow['type']
  branch?: string | null
  /** An environment whose variables and branch are copied. */
  cloneFrom?: string
}

export async function createEnvironment(
  project: ProjectRow,
  options: EnvironmentOptions,
  deps: ProjectsDeps,
): Promise<EnvironmentRow> {
  refuseUnstorable(options)
  const name = options.name.trim()
  const row: EnvironmentRow = {
    id: newId('env'),
    projectId: project.id,
    name,
    slug: options.slug ?? slugFrom(name) ?? randomSlug('env'),
    type: options.type ?? 'preview',
    branch: options.branch ?? null,
    uploadSessionId: null,
    pullRequest: null,
    fromFork: 0,
    deletingSince: null,
    createdAt: nowOf(deps),
  }
  await changeProject(project, deps, async (_, transaction) => {
    const { db } = transaction
    // Later than all existing ones, also if the clock went back: the list is in order of creation.
    row.createdAt = Math.max(row.createdAt, (await newestEnvironmentAt(db, project.id)) + 1)
    const original = options.cloneFrom === undefined ? undefined : await requireEnvironment(db, project.id, options.cloneFrom)
    if (original && options.branch === undefined) row.branch = original.branch
    if (!(await insertEnvironment(db, row))) refuseTakenSlug(row, options)
    if (original) await copyVariables(db, { projectId: project.id, from: original.slug, to: row.slug }, deps)
    await refuseOverQuota(transaction, project.organizationId, ['cpuCores', 'memoryMb'], deps)
    return {}
  })
  if (options.cloneFrom !== undefined) await deps.projectPorts.secrets?.refresh(project.id)
  return row
}

/** Names the field that the client sent: a slug derived from the name is reported as the name. */
const refuseTakenSlug = ({ slug }: EnvironmentRow, options: EnvironmentOptions): never =>
  options.slug === undefined
    ? fail('slug_taken', {
        field: 'name',
        message: `An environment with the slug ${slug} exists. Choose another name, or send a slug.`,
      })
    : fail('slug_taken', { field: 'slug' })

/** Production has the project's primary URL; each other environment has its own host name, and a worker has none. */
export async function showEnvironments(
  rows: readonly EnvironmentRow[],
  project: ProjectRow,
  deps: ProjectsDeps,
): Promise<Environment[]> {
  const { url = null } = await showProject(project, deps)
  const urlFor = (slug: string) => (slug === 'production' ? url : environmentUrl(project, slug, deps))
  return rows.map(({ id, projectId, name, slug, type, branch, pullRequest, deletingSince, createdAt }) => ({
    ...{ id, projectId, name, slug, branch, pullRequest },
    type: typeOf(slug, type),
    deletingSince: isoOrNull(deletingSince),
    url: urlFor(slug),
    createdAt: iso(createdAt),
  }))
}

/** Only `production` has this type; other environments of that type were created before it was refused. */
const typeOf = (slug: string, type: EnvironmentRow['type']): EnvironmentRow['type'] =>
  type === 'production' && slug !== 'production' ? 'preview' : type

/** URL of an environment's own host name; null for a worker. */
export function environmentUrl(project: ProjectRow, slug: string, deps: ProjectsDeps): string | null {
  if (project.type === 'worker') return null
  const dotted = environmentHostname(project, slug, deps.settings.baseDomain)
  const hostname = deps.projectPorts.edge?.aliasOf(dotted) ?? dotted
  return urlOf(hostname, deps.projectPorts.edge?.routeStatus(hostname)?.tls ?? 'none', urlSettings(deps))
}
