import type { CreateProject } from '@berth/contract'
import type { Caller } from '../../../http/handler.ts'
import { newId } from '../../../platform/db/ids.ts'
import type { Db } from '../../../platform/db/schema.ts'
import type { ProjectRow } from '../../../platform/db/tables/projects.ts'
import { fail } from '../../../platform/failure.ts'
import { nowOf, type ProjectsDeps } from '../deps.ts'
import { automaticDeploy, configColumns, defaults, refuseUnstorable } from '../fields.ts'
import { hiddenFrom } from '../git/hidden-repositories.ts'
import { hostUrlsOf } from '../git-remote.ts'
import { enqueueWebhookCheck } from '../hostnames/hook-request.ts'
import { isInstanceSlug, slugsBehindAlias } from '../hostnames/hostnames.ts'
import { type ProjectSignal, projectsTopic } from '../project-signal.ts'
import { refuseOverQuota } from '../quotas/quotas.ts'
import { withStoredValues } from '../records/service-environment.ts'
import { checkConfig, checkNames } from '../settings/config-rules.ts'
import { insertVariables, type NewVariable } from '../settings/env.ts'
import { detectedColumn, readScanned, withName } from '../settings/scanned-fields.ts'
import { candidateSlugs, randomSlug, slugFrom } from '../slug.ts'
import { checkSource, sourceColumns } from '../source.ts'
import { insertEnvironment, insertProject, type NewProject, takenSlugs } from '../store.ts'
import { fetchUploadById } from '../uploads/stored-upload.ts'
import { claimUpload } from '../uploads/upload-claim.ts'

/** Rows that are recorded in the same transaction as a project. */
export interface RecordedWith {
  /** Variables of production. */
  variables(project: ProjectRow): readonly NewVariable[]
  record(project: ProjectRow, db: Db): Promise<void>
}

/** The create body; `ensure` may leave the name out. */
export type NewProjectBody = Omit<CreateProject, 'name'> & Partial<Pick<CreateProject, 'name'>>

/** Records a project with its production environment; nothing is deployed. */
export async function createProject(
  input: NewProjectBody,
  caller: Caller,
  deps: ProjectsDeps,
  recordedWith?: RecordedWith,
): Promise<ProjectRow> {
  refuseUnstorable(input)
  const namedInput = await withName(input, caller.organizationId, deps)
  const { body, detected } = await readScanned(namedInput, caller.organizationId, deps)
  checkConfig(body)
  checkNames(body)
  const { organizationId } = caller
  const source = sourceColumns(
    await checkSource(body, organizationId, deps, { current: null, caller }),
    null,
    hostUrlsOf(deps.settings),
  )
  const refuseHidden = await hiddenFrom(caller, deps)
  refuseHidden(source, null)
  const row: NewProject = {
    ...emptyProject(organizationId, nowOf(deps)),
    ...configColumns(withStoredValues(body, [])),
    ...automaticDeploy(body, body.image),
    ...source,
    name: body.name.trim(),
    ...detectedColumn(input.name == null ? { ...detected, name: namedInput.name } : detected, null),
  }
  if (body.slug) refuseInstanceSlug(body.slug, deps)
  if (row.uploadSessionId) await fetchUploadById(row.uploadSessionId, organizationId, deps)
  return deps.database.transaction(async (transaction) => {
    if (row.uploadSessionId) await claimUpload(transaction, row.uploadSessionId, { organizationId, id: null }, deps)
    const project = body.slug
      ? await insertWithSlug(body.slug, row, transaction.db)
      : await insertWithFreeSlug(row, transaction.db, deps)
    await insertEnvironment(transaction.db, productionOf(project))
    await enqueueWebhookCheck(project, transaction)
    if (project.previews) await deps.projectPorts.pullRequests?.findOpen(project, transaction)
    if (recordedWith) {
      await insertVariables(transaction.db, project, recordedWith.variables(project), deps)
      await recordedWith.record(project, transaction.db)
    }
    await refuseOverQuota(transaction, organizationId, ['projects', 'cpuCores', 'memoryMb'], deps)
    transaction.signal(projectsTopic, { projectId: project.id } satisfies ProjectSignal)
    return project
  })
}

export const emptyProject = (organizationId: string, now: number): Omit<NewProject, 'name'> => ({
  id: newId('prj'),
  organizationId,
  slug: '',
  type: defaults.type,
  enabled: 1,
  port: defaults.port,
  volumes: '[]',
  services: '[]',
  resources: JSON.stringify(defaults.resources),
  sleepMode: defaults.sleepMode,
  autoDeploy: defaults.autoDeploy,
  previews: defaults.previews,
  previewsMaximum: defaults.previewsMaximum,
  previewsMaxAgeDays: defaults.previewsMaxAgeDays,
  previewsUseProduction: 0,
  rollbackWindow: defaults.rollbackWindow,
  createdAt: now,
  updatedAt: now,
})

const productionOf = ({ id, createdAt }: ProjectRow) => ({
  id: newId('env'),
  projectId: id,
  name: 'Production',
  slug: 'production',
  type: 'production' as const,
  branch: null,
  uploadSessionId: null,
  pullRequest: null,
  fromFork: 0 as const,
  deletingSince: null,
  createdAt,
})

async function insertWithSlug(slug: string, row: NewProject, db: Db): Promise<ProjectRow> {
  await refuseAliasSlug(slug, db)
  return (await insertProject(db, { ...row, slug })) ?? fail('slug_taken', { field: 'slug' })
}

/**
 * Inserts the project with the first free slug. The unique index decides between concurrent projects of one name; the second
 * one takes another slug.
 */
async function insertWithFreeSlug(row: NewProject, db: Db, deps: ProjectsDeps): Promise<ProjectRow> {
  const { base, free } = await freeSlugs(row.name, db, deps)
  for (const slug of free) {
    const project = await insertProject(db, { ...row, slug })
    if (project) return project
  }
  return insertWithSlug(randomSlug(base), row, db)
}

/** The slug that a project of this name gets automatically; a slug that was derived from the name is kept. */
export async function slugOfName({ name, slug }: Pick<ProjectRow, 'name' | 'slug'>, db: Db, deps: ProjectsDeps): Promise<string> {
  const { base, free } = await freeSlugs(name, db, deps)
  const isDerivedFromName =
    slug === base || (slug.startsWith(`${base}-`) && /^(\d|[0-9a-f]{8})$/.test(slug.slice(base.length + 1)))
  return isDerivedFromName ? slug : (free[0] ?? randomSlug(base))
}

async function freeSlugs(name: string, db: Db, deps: ProjectsDeps): Promise<{ base: string; free: string[] }> {
  const base = slugFrom(name) ?? 'project'
  const candidates = candidateSlugs(base).filter((slug) => !isInstanceSlug(slug, deps))
  const taken = await takenSlugs(db, candidates)
  return { base, free: candidates.filter((slug) => !taken.has(slug)) }
}

/** Refuses a slug whose free host name can be the address of another project's environment, such as `pr-7--shop`. */
export async function refuseAliasSlug(slug: string, db: Db): Promise<void> {
  const behind = slugsBehindAlias(slug)
  if (behind.length > 0 && (await takenSlugs(db, behind)).size > 0) fail('slug_taken', { field: 'slug' })
}

export function refuseInstanceSlug(slug: string, deps: ProjectsDeps): void {
  if (isInstanceSlug(slug, deps))
    fail('slug_taken', { field: 'slug', message: 'This slug would be the host name of the instance. Choose another.' })
}
