import type { DeployHook, DeployHookBody } from '@berth/contract'
import type { RequestContext } from '../../../http/handler.ts'
import { iso, isoOrNull } from '../../../platform/db/columns.ts'
import { newId } from '../../../platform/db/ids.ts'
import { page } from '../../../platform/db/pages.ts'
import type { Db } from '../../../platform/db/schema.ts'
import type { DeployHookRow } from '../../../platform/db/tables/deployments.ts'
import type { ProjectRow } from '../../../platform/db/tables/projects.ts'
import { fail, refuse } from '../../../platform/failure.ts'
import { hashToken } from '../../../platform/secrets/token.ts'
import { randomCode } from '../../access/index.ts'
import { findAnyProject, lockProject, requireEnvironment, sourceKind } from '../../projects/index.ts'
import { type DeploymentsDeps, nowOf } from '../deps.ts'
import { requestDeployment } from './request-deployment.ts'

const maxHooks = 50

/** Creates a secret URL that deploys the project. Only the hash of its token is stored. */
export async function createHook(
  project: ProjectRow,
  { name, branch = null, environment }: DeployHookBody,
  deps: DeploymentsDeps,
): Promise<DeployHook & { url: string }> {
  const { db } = deps.database
  if (branch && sourceKind(project) !== 'git') refuse('branch', 'cannot be set: the project has no repository')
  const { slug } = await requireEnvironment(db, project.id, environment ?? 'production')
  const token = `dph_${randomCode(40)}`
  const row: DeployHookRow = {
    id: newId('hok'),
    projectId: project.id,
    name: name.trim(),
    branch,
    environment: slug,
    tokenHash: hashToken(token),
    lastUsedAt: null,
    createdAt: nowOf(deps),
  }
  await deps.database.transaction(async (transaction) => {
    await lockProject(transaction, project.id)
    if ((await countHooks(transaction.db, project.id)) >= maxHooks)
      fail('conflict', { message: `The project has ${maxHooks} deploy hooks. Delete an unused one.` })
    await transaction.db.insertInto('deployHooks').values(row).execute()
  })
  return { ...showHook(row), url: `${deps.publicUrl()}/api/hooks/deploy/${token}` }
}

async function countHooks(db: Db, projectId: string): Promise<number> {
  const { count } = await db
    .selectFrom('deployHooks')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('projectId', '=', projectId)
    .executeTakeFirstOrThrow()
  return Number(count)
}

export const showHook = ({ id, name, branch, environment, lastUsedAt, createdAt }: DeployHookRow): DeployHook => ({
  ...{ id, name, branch, environment },
  lastUsedAt: isoOrNull(lastUsedAt),
  createdAt: iso(createdAt),
})

export const listHooks = (db: Db, projectId: string, { limit, cursor }: { limit?: number; cursor?: string }) =>
  page(db.selectFrom('deployHooks').selectAll().where('projectId', '=', projectId), {
    limit: limit ?? 100,
    cursor: cursor ?? null,
    by: ['createdAt', 'id'],
    direction: 'asc',
  })

export const findHook = (db: Db, projectId: string, id: string): Promise<DeployHookRow | undefined> =>
  db.selectFrom('deployHooks').selectAll().where('projectId', '=', projectId).where('id', '=', id).executeTakeFirst()

export const hooksOf = (db: Db, projectId: string): Promise<DeployHookRow[]> =>
  db.selectFrom('deployHooks').selectAll().where('projectId', '=', projectId).execute()

export const deleteHook = (db: Db, id: string) => db.deleteFrom('deployHooks').where('id', '=', id).execute()

/**
 * Deploys the target of the hook with this token, like a push. Every failure is a 404 for the caller. The audit entry names the
 * hook: the path of the request holds the token itself.
 */
export async function deployByHook(token: string, audit: RequestContext['audit'], deps: DeploymentsDeps): Promise<string> {
  const { db } = deps.database
  audit({ objectKind: 'deployHook', objectId: '' })
  const hook = await db.selectFrom('deployHooks').selectAll().where('tokenHash', '=', hashToken(token)).executeTakeFirst()
  const project = hook && (await findAnyProject(db, hook.projectId))
  if (!project) return fail('not_found')
  const { id, projectId, environment, branch } = hook
  audit({ organizationId: project.organizationId, objectId: id })
  const options = { trigger: 'push' as const, createdBy: null, environment, ...(branch ? { branch } : {}) }
  const deployment = await requestDeployment(projectId, options, deps)
  await db
    .updateTable('deployHooks')
    .set({ lastUsedAt: nowOf(deps) })
    .where('id', '=', id)
    .execute()
  return deployment.id
}
