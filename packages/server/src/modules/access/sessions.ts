import type { SessionRecord } from '@berth/contract'
import type { Caller, RequestContext } from '../../http/handler.ts'
import { iso, isoOrNull } from '../../platform/db/columns.ts'
import { page } from '../../platform/db/pages.ts'
import type { Db } from '../../platform/db/schema.ts'
import type { SessionRow } from '../../platform/db/tables/access.ts'
import { hashPassword } from '../../platform/secrets/password.ts'
import type { AccessDeps } from './deps.ts'
import { type Attempt, proveCurrentPassword } from './prove-password.ts'
import { type ListRequest, newestFirst, paging } from './store.ts'

/** The client that opens a session, for the user's list of sessions. */
export interface SessionClient {
  ip: string
  userAgent: string | null
}

const maxUserAgent = 300

export function sessionClientOf({ ip, headers }: RequestContext): SessionClient {
  const userAgent = headers['user-agent']
  // The CLI prints the user agent: control characters could change the terminal.
  return { ip, userAgent: typeof userAgent === 'string' ? userAgent.slice(0, maxUserAgent).replace(/[^\x20-\x7e]/g, '?') : null }
}

export const listSessions = (db: Db, userId: string, now: number, request: ListRequest) =>
  page(db.selectFrom('sessions').selectAll().where('userId', '=', userId).where('expiresAt', '>', now), {
    ...paging(request),
    ...newestFirst,
  })

export const showSession =
  ({ sessionId }: Caller) =>
  (row: SessionRow): SessionRecord => ({
    id: row.id,
    current: row.id === sessionId,
    ip: row.ip,
    userAgent: row.userAgent,
    createdAt: iso(row.createdAt),
    lastUsedAt: isoOrNull(row.lastUsedAt),
    expiresAt: iso(row.expiresAt),
  })

interface PasswordChange {
  currentPassword: string
  password: string
  revokeTokens?: boolean
}

/** Changes the caller's password. Other sessions end; tokens stay valid unless the caller revokes them. */
export async function changePassword(change: PasswordChange, caller: Caller, attempt: Attempt, deps: AccessDeps) {
  const { userId, tokenId } = caller
  await proveCurrentPassword({ ...attempt, currentPassword: change.currentPassword }, caller, deps)
  const passwordHash = await hashPassword(change.password)
  return deps.database.transaction(async ({ db }) => {
    await db.updateTable('users').set({ passwordHash }).where('id', '=', userId).execute()
    const ended = await endOtherSessions(db, caller)
    const revoked = change.revokeTokens ? await revokeTokens(db, userId, tokenId) : 0
    return { endedSessions: ended, revokedTokens: revoked }
  })
}

/** Ends the user's sessions except the caller's own. Returns their number. */
export async function endOtherSessions(db: Db, { userId, sessionId }: Caller): Promise<number> {
  const ended = await db
    .deleteFrom('sessions')
    .where('userId', '=', userId)
    .where('id', '!=', sessionId ?? '')
    .returning('id')
    .execute()
  return ended.length
}

export async function revokeTokens(db: Db, userId: string, keptId: string | null): Promise<number> {
  const revoked = await db
    .deleteFrom('tokens')
    .where('userId', '=', userId)
    .where('id', '!=', keptId ?? '')
    .returning('id')
    .execute()
  return revoked.length
}
