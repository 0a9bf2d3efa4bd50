import { newId } from '../../../platform/db/ids.ts'
import { sealedFor } from '../../../platform/db/sealed-columns.ts'
import type { EnvironmentRow, ProjectRow } from '../../../platform/db/tables/projects.ts'
import { nowOf, type ProjectsDeps } from '../deps.ts'
import { openCloneToken } from '../git/clone-token.ts'
import { refuseOverQuota } from '../quotas/quotas.ts'
import { openEnv } from '../settings/env.ts'
import { isMadeOfUploads } from '../source.ts'
import { allEnvironments, findAnyProject, insertEnvironment, insertProject, takenSlugs, upsertVariable } from '../store.ts'
import { uploadVersion } from '../version.ts'
import { type ProjectSignal, projectsTopic } from './change-project.ts'
import { chanceSlug } from './slug.ts'

/** Enough of a project to bring it back after it was deleted. Holds secrets in the clear: whoever keeps it encrypts it. */
export interface SavedProject {
  project: Omit<ProjectRow, 'cloneToken' | 'deletingSince' | 'presence'>
  cloneToken: string | null
  environments: (Omit<EnvironmentRow, 'projectId'> & { variables: { key: string; value: string; isSecret: boolean }[] })[]
}

/** Undefined when there is no such project. */
export async function saveProjectWhole(projectId: string, deps: ProjectsDeps): Promise<SavedProject | undefined> {
  const row = await findAnyProject(deps.database.db, projectId)
  if (!row) return undefined
  const { cloneToken: _sealed, deletingSince: _mark, presence: _here, ...columns } = row
  const sessionId = await uploadVersion(row, deps)
  const isProjects = isMadeOfUploads(row)
  const project = isProjects && sessionId ? { ...columns, gitProvider: 'upload', uploadSessionId: sessionId } : columns
  const environments = []
  for (const { projectId: _, ...environment } of await allEnvironments(deps.database.db, projectId)) {
    const { values, secretKeys } = await openEnv(projectId, environment.slug, deps)
    const variables = Object.entries(values).map(([key, value]) => ({ key, value, isSecret: secretKeys.includes(key) }))
    // The files of production are saved; other environments start again from those.
    const uploadSessionId = environment.slug === 'production' && !isProjects ? sessionId : null
    environments.push({ ...environment, uploadSessionId, variables })
  }
  return { project, cloneToken: openCloneToken(row, deps)?.reveal() ?? null, environments }
}

/**
 * The project under its own id again, in the organisation it was in; under another slug where its own was given away. Does
 * nothing where it is there. What it had been uploaded from, or the server it ran on, may be gone: a deployment tells.
 */
export async function bringProjectBack(saved: SavedProject, organizationId: string, deps: ProjectsDeps): Promise<void> {
  const { project, cloneToken, environments } = saved
  const [id, now] = [project.id, nowOf(deps)]
  await deps.database.transaction(async ({ db, lock, signal }) => {
    if (await findAnyProject(db, id)) return
    const isTaken = (await takenSlugs(db, [project.slug])).has(project.slug)
    await insertProject(db, {
      ...project,
      organizationId,
      slug: isTaken ? chanceSlug(project.slug) : project.slug,
      cloneToken: cloneToken === null ? null : deps.secretBox.seal(cloneToken, sealedFor.cloneToken(id)),
      deletingSince: null,
      presence: 'here',
      updatedAt: now,
    })
    for (const { variables, ...environment } of environments) {
      await insertEnvironment(db, { ...environment, id: newId('env'), projectId: id })
      for (const { key, value, isSecret } of variables) {
        const sealed = deps.secretBox.seal(value, sealedFor.envVariable(id, environment.slug, key))
        const flag = isSecret ? 1 : 0
        await upsertVariable(db, {
          projectId: id,
          environment: environment.slug,
          key,
          value: sealed,
          isSecret: flag,
          updatedAt: now,
        })
      }
    }
    await refuseOverQuota({ db, lock }, organizationId, ['projects', 'cpuCores', 'memoryMb'], deps)
    signal(projectsTopic, { projectId: id } satisfies ProjectSignal)
  })
}
