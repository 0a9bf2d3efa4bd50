import { newId } from '../../../platform/db/ids.ts'
import { sealedFor } from '../../../platform/db/sealed-columns.ts'
import type { EnvironmentRow, ProjectRow, RouteRuleRow } from '../../../platform/db/tables/projects.ts'
import { nowOf, type ProjectsDeps } from '../deps.ts'
import { openCloneToken } from '../git/clone-token.ts'
import { type ProjectSignal, projectsTopic } from '../project-signal.ts'
import { refuseOverQuota } from '../quotas/quotas.ts'
import { openEnv } from '../settings/env.ts'
import { randomSlug } from '../slug.ts'
import { isUploadProject } from '../source.ts'
import {
  allEnvironments,
  findAnyProject,
  insertEnvironment,
  insertProject,
  rulesOf,
  takenSlugs,
  upsertVariable,
} from '../store.ts'
import { uploadIdOf } from './current-source.ts'
import { claimSavedDomains, domainTakenText, isDomainTaken, type SavedDomain, saveDomains } from './saved-domains.ts'

/** Everything needed to restore a deleted project. Contains secrets in clear text: the caller must encrypt it. */
export interface SavedProject {
  project: Omit<ProjectRow, 'cloneToken' | 'deletingSince' | 'presence'>
  cloneToken: string | null
  environments: (Omit<EnvironmentRow, 'projectId'> & { variables: { key: string; value: string; isSecret: boolean }[] })[]
  /** Absent in records from before domains and rules were saved. */
  domains?: SavedDomain[]
  rules?: Omit<RouteRuleRow, 'projectId'>[]
}

/** Undefined when there is no such project. */
export async function snapshotProject(projectId: string, deps: ProjectsDeps): Promise<SavedProject | undefined> {
  const row = await findAnyProject(deps.database.db, projectId)
  if (!row) return undefined
  const { cloneToken: _sealed, deletingSince: _mark, presence: _here, ...columns } = row
  const sessionId = await uploadIdOf(row, deps)
  const isUploadSource = isUploadProject(row)
  const project = isUploadSource && sessionId ? { ...columns, gitProvider: 'upload', uploadSessionId: sessionId } : columns
  const environments = []
  for (const { projectId: _, ...environment } of await allEnvironments(deps.database.db, projectId)) {
    const { values, secretKeys } = await openEnv(projectId, environment.slug, deps)
    const variables = Object.entries(values).map(([key, value]) => ({ key, value, isSecret: secretKeys.includes(key) }))
    // The files of production are saved; other environments start again from those.
    const uploadSessionId = environment.slug === 'production' && !isUploadSource ? sessionId : null
    environments.push({ ...environment, uploadSessionId, variables })
  }
  const domains = await saveDomains(deps.database.db, projectId)
  const rules = (await rulesOf(deps.database.db, projectId)).map(({ projectId: _, ...rule }) => rule)
  return { project, cloneToken: openCloneToken(row, deps)?.reveal() ?? null, environments, domains, rules }
}

export interface RestorePreview {
  /** Each part of the project that comes back. */
  items: { kind: string; name: string }[]
  warnings: string[]
}

const domainsNotSavedWarning =
  'This backup contains no custom domains and route rules, because an older version made it. Add them again.'

/** Everything that `restoreProject` would create; undefined if the project exists. */
export async function previewProjectRestore(
  saved: SavedProject,
  organizationId: string,
  { database: { db } }: ProjectsDeps,
): Promise<RestorePreview | undefined> {
  const { project, environments, domains, rules } = saved
  if (await findAnyProject(db, project.id)) return undefined
  const items = [
    { kind: 'project', name: project.name },
    ...environments.flatMap(({ slug, variables }) => [
      { kind: 'environment', name: slug },
      ...variables.map(({ key }) => ({ kind: 'variable', name: `${slug}/${key}` })),
    ]),
    ...(rules ?? []).map(({ kind, pathPrefix }) => ({ kind: 'route rule', name: pathPrefix ? `${kind} ${pathPrefix}` : kind })),
  ]
  const warnings = domains === undefined ? [domainsNotSavedWarning] : []
  if ((await takenSlugs(db, [project.slug])).has(project.slug))
    warnings.push(`The slug ${project.slug} is now used by another project. The restored project gets another slug.`)
  for (const { hostname } of domains ?? [])
    if (await isDomainTaken(db, hostname, { id: project.id, organizationId })) warnings.push(domainTakenText(hostname))
    else items.push({ kind: 'domain', name: hostname })
  return { items, warnings }
}

/**
 * Restores the project with its own id and in its organisation; under another slug where its own is taken. Does nothing where
 * the project exists. Its upload or its server may no longer exist; the next deployment reports that. Returns a warning for
 * each part that was not restored.
 */
export async function restoreProject(saved: SavedProject, organizationId: string, deps: ProjectsDeps): Promise<string[]> {
  const { project, cloneToken, environments } = saved
  const [id, now] = [project.id, nowOf(deps)]
  return deps.database.transaction(async (transaction) => {
    const { db, lock, signal } = transaction
    if (await findAnyProject(db, id)) return []
    const isTaken = (await takenSlugs(db, [project.slug])).has(project.slug)
    await insertProject(db, {
      ...project,
      organizationId,
      slug: isTaken ? randomSlug(project.slug) : project.slug,
      cloneToken: cloneToken === null ? null : deps.secretBox.seal(cloneToken, sealedFor.cloneToken(id)),
      deletingSince: null,
      presence: 'here',
      updatedAt: now,
    })
    for (const { variables, ...environment } of environments) {
      await insertEnvironment(db, { ...environment, id: newId('env'), projectId: id })
      for (const { key, value, isSecret } of variables) {
        const sealed = deps.secretBox.seal(value, sealedFor.envVariable(id, environment.slug, key))
        const isSecretFlag = isSecret ? 1 : 0
        await upsertVariable(db, {
          projectId: id,
          environment: environment.slug,
          key,
          value: sealed,
          isSecret: isSecretFlag,
          updatedAt: now,
        })
      }
    }
    for (const rule of saved.rules ?? [])
      await db
        .insertInto('routeRules')
        .values({ ...rule, projectId: id })
        .execute()
    const warnings = await claimSavedDomains(saved.domains ?? [], { id, organizationId }, transaction, deps)
    await refuseOverQuota({ db, lock }, organizationId, ['projects', 'cpuCores', 'memoryMb'], deps)
    signal(projectsTopic, { projectId: id } satisfies ProjectSignal)
    return warnings
  })
}
