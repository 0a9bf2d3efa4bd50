import { limits } from '@berth/contract'
import type { Caller } from '../../http/handler.ts'
import { iso } from '../../platform/db/columns.ts'
import { hashToken } from '../../platform/secrets/token.ts'
import { renewed } from './credentials.ts'
import type { AccessDeps } from './deps.ts'
import { randomCode } from './random-code.ts'

/**
 * A token that opens one path once, for a browser that cannot send a header with an event stream. Whoever spends it is the
 * caller who minted it, as they are then.
 */
export interface StreamTokens {
  mint(path: string, caller: Caller): Promise<{ token: string; expiresAt: string }>
  spend(token: string, path: string): Promise<Caller | null>
}

export function createStreamTokens({ database, clock }: AccessDeps): StreamTokens {
  const { db } = database
  return {
    async mint(path, { userId, organizationId, tokenId, sessionId }) {
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
      return spent && spent.path === path && spent.expiresAt > now ? renewed(db, spent, now) : null
    },
  }
}
