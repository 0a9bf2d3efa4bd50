import { limits } from '@berth/contract'
import { iso } from '../../db/columns.ts'
import type { Caller } from '../../http/handler.ts'
import { hashToken } from '../../secrets/token.ts'
import { callerAgain } from './credentials.ts'
import type { AccessDeps } from './deps.ts'
import { randomCode } from './random-code.ts'

/** A token that opens one path once, for a browser that cannot send a header with an event stream. */
export interface StreamTokens {
  mint(path: string, caller: Caller): Promise<{ token: string; expiresAt: string }>
  spend(token: string, path: string): Promise<Caller | null>
}

export function createStreamTokens({ database, clock }: AccessDeps): StreamTokens {
  const { db } = database
  return {
    async mint(path, { userId, organizationId, scopes, projectIds, tokenId, sessionId }) {
      const now = clock.now().getTime()
      const token = randomCode(40)
      const expiresAt = now + limits.streamTokenSeconds * 1000
      await db.deleteFrom('streamTokens').where('expiresAt', '<', now).execute()
      await db
        .insertInto('streamTokens')
        .values({
          secretHash: hashToken(token),
          path,
          userId,
          organizationId,
          scopes: listOf(scopes),
          projectIds: listOf(projectIds),
          tokenId,
          sessionId,
          expiresAt,
        })
        .execute()
      return { token, expiresAt: iso(expiresAt) }
    },
    async spend(token, path) {
      const spent = await db
        .deleteFrom('streamTokens')
        .where('secretHash', '=', hashToken(token))
        .returningAll()
        .executeTakeFirst()
      const now = clock.now().getTime()
      if (!spent || spent.path !== path || spent.expiresAt <= now) return null
      // Whoever minted it is asked about anew: it opens nothing that they could not open themselves by now.
      return callerAgain(db, spent, now)
    },
  }
}

const listOf = (set: ReadonlySet<string> | null): string | null => (set === null ? null : JSON.stringify([...set]))
