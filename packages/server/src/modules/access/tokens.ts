import { hasPermission, type Permission } from '@berth/contract'
import type { Caller } from '../../http/handler.ts'
import { newId } from '../../platform/db/ids.ts'
import { refuse } from '../../platform/failure.ts'
import { hashToken } from '../../platform/secrets/token.ts'
import type { AccessDeps } from './deps.ts'
import { randomCode } from './random-code.ts'
import { findExpiringTokens, showToken } from './store.ts'

export interface TokenOptions {
  name: string
  scopes?: string[] | null
  projectIds?: string[] | null
  expiresInDays?: number
}

/**
 * Creates a token, which never grants more than its creator has: the role is checked now and at each use. A token created with a
 * token expires no later than that one and is revoked with it.
 */
export async function createToken(options: TokenOptions, caller: Caller, deps: AccessDeps) {
  const { database, clock } = deps
  const scopes = options.scopes ?? (caller.scopes ? [...caller.scopes] : null)
  const projectIds = options.projectIds ?? (caller.projectIds ? [...caller.projectIds] : null)
  for (const scope of scopes ?? []) checkScope(scope as Permission, caller)
  await checkProjects(projectIds, caller, deps)
  const value = `brt_${randomCode(40)}`
  const now = clock.now().getTime()
  const row = {
    id: newId('tok'),
    userId: caller.userId,
    organizationId: caller.organizationId,
    name: options.name.trim(),
    secretHash: hashToken(value),
    lastFour: value.slice(-4),
    scopes: scopes && JSON.stringify(scopes),
    projectIds: projectIds && JSON.stringify(projectIds),
    expiresAt: earlierTime(options.expiresInDays ? now + options.expiresInDays * 86_400_000 : null, parentExpiry(caller)),
    lastUsedAt: null,
    parentId: caller.tokenId,
    createdAt: now,
  }
  await database.db.insertInto('tokens').values(row).execute()
  return { ...showToken(row), token: value }
}

const parentExpiry = ({ tokenId, expiresAt }: Caller): number | null => (tokenId && expiresAt ? Date.parse(expiresAt) : null)

const earlierTime = (left: number | null, right: number | null): number | null =>
  left === null || right === null ? (left ?? right) : Math.min(left, right)

/** Tokens that expire soon, for warnings. */
export async function expiringTokens(now: Date, until: Date, { database }: AccessDeps) {
  const rows = await findExpiringTokens(database.db, now.getTime(), until.getTime())
  return rows.map((row) => ({ ...row, createdAt: new Date(row.createdAt), expiresAt: new Date(row.expiresAt as number) }))
}

function checkScope(scope: Permission, caller: Caller): void {
  if (!hasPermission(caller, scope)) refuse('scopes', `you do not have the permission ${scope}`)
}

async function checkProjects(projectIds: string[] | null, caller: Caller, { ownedProjects }: AccessDeps): Promise<void> {
  if (!projectIds) return
  const ownedIds = await ownedProjects?.(caller.organizationId, projectIds)
  const outsider = projectIds.find((id) => !ownedIds?.has(id) || (caller.projectIds && !caller.projectIds.has(id)))
  if (outsider) refuse('projectIds', `project ${outsider} does not exist`)
}
