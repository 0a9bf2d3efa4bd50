import { limits } from '@berth/contract'
import type { Selectable } from 'kysely'
import type { Caller } from '../../http/handler.ts'
import { iso } from '../../platform/db/columns.ts'
import type { StreamTokensTable } from '../../platform/db/tables/access.ts'
import { hashToken } from '../../platform/secrets/token.ts'
import { renewed } from './credentials.ts'
import type { AccessDeps } from './deps.ts'
import { randomCode } from './random-code.ts'

/**
 * Tokens that open one path, for a browser that cannot send a header with an event stream. The caller is the one who created the
 * token, with the permissions they have when it is used.
 */
export interface StreamTokens {
  mint(path: string, caller: Caller): Promise<{ token: string; expiresAt: string }>
  /** Creates a token for uploads to that path, which is reusable until the upload session expires. */
  mintForUpload(path: string, caller: Caller): Promise<string>
  /** Records a token that the cloud issued, for a stream there. */
  note(token: string, path: string, caller: Caller): Promise<void>
  /** The caller of the token, which is deleted; null for an invalid token. */
  spend(token: string, path: string): Promise<Caller | null>
  /** The caller of a reusable token; null for an invalid one. */
  use(token: string, path: string): Promise<Caller | null>
}

export function createStreamTokens({ database, clock }: AccessDeps): StreamTokens {
  const { db } = database
  const saveToken = async (
    token: string,
    path: string,
    caller: Caller,
    elsewhere: 0 | 1,
    seconds: number = limits.streamTokenSeconds,
  ) => {
    const now = clock.now().getTime()
    const { userId, organizationId, tokenId, sessionId } = caller
    const expiresAt = now + seconds * 1000
    await db.deleteFrom('streamTokens').where('expiresAt', '<', now).execute()
    await db
      .insertInto('streamTokens')
      .values({ secretHash: hashToken(token), path, userId, organizationId, tokenId, sessionId, expiresAt, elsewhere })
      // A duplicate token from the cloud must not change its owner.
      .onConflict((conflict) => conflict.doNothing())
      .execute()
    return expiresAt
  }
  const openToken = async (row: Selectable<StreamTokensTable> | undefined, path: string) => {
    const now = clock.now().getTime()
    if (!row || row.path !== path || row.expiresAt <= now) return null
    const caller = await renewed(db, row, now)
    return caller && row.elsewhere ? { ...caller, onlyInCloud: true as const } : caller
  }
  return {
    async mint(path, caller) {
      const token = randomCode(40)
      return { token, expiresAt: iso(await saveToken(token, path, caller, 0)) }
    },
    async mintForUpload(path, caller) {
      const token = randomCode(40)
      await saveToken(token, path, caller, 0, limits.uploadSessionSeconds)
      return token
    },
    async note(token, path, caller) {
      await saveToken(token, path, caller, 1)
    },
    async spend(token, path) {
      const used = await db
        .deleteFrom('streamTokens')
        .where('secretHash', '=', hashToken(token))
        .returningAll()
        .executeTakeFirst()
      return openToken(used, path)
    },
    use: async (token, path) =>
      openToken(
        await db.selectFrom('streamTokens').selectAll().where('secretHash', '=', hashToken(token)).executeTakeFirst(),
        path,
      ),
  }
}
