import type { Db } from '../../platform/db/schema.ts'
import type { UserRow } from '../../platform/db/tables/access.ts'
import { fail } from '../../platform/failure.ts'
import { hashToken } from '../../platform/secrets/token.ts'
import type { AccessDeps } from './deps.ts'
import { randomCode } from './random-code.ts'

export const challengeMs = 5 * 60_000

/**
 * The act that a challenge is valid for. A registration names its user and the password that was proven for it: after a reset of the
 * password, it is invalid. A sign-in does not know the user yet.
 */
export type ChallengePurpose = { act: 'registration'; user: Pick<UserRow, 'id' | 'passwordHash'> } | { act: 'sign-in' }

type ChallengeDeps = Pick<AccessDeps, 'secretBox' | 'clock'>

/** Creates a signed challenge. Nothing is stored until it is used, so that strangers cannot fill the database. */
export function newChallenge(purpose: ChallengePurpose, { secretBox, clock }: ChallengeDeps): string {
  const content = `${randomCode(26)}.${clock.now().getTime() + challengeMs}`
  return `${content}.${secretBox.sign(content, purposeName(purpose))}`
}

/** Whether this instance created the challenge for this purpose, and it has not expired. */
export function isOwnChallenge(challenge: string, purpose: ChallengePurpose, { secretBox, clock }: ChallengeDeps): boolean {
  const { content, signature, expiresAt } = partsOf(challenge)
  return expiresAt > clock.now().getTime() && secretBox.isSigned(signature, content, purposeName(purpose))
}

/** Uses a challenge up: of two requests with the same one, one wins. */
export async function spendChallenge(db: Db, challenge: string, { clock }: Pick<AccessDeps, 'clock'>): Promise<void> {
  const now = clock.now().getTime()
  const { expiresAt } = partsOf(challenge)
  await db.deleteFrom('spentChallenges').where('expiresAt', '<=', now).execute()
  // A challenge that expired since it was checked is no longer stored, and may have been used.
  const spent =
    expiresAt > now &&
    (await db
      .insertInto('spentChallenges')
      .values({ challengeHash: hashToken(challenge), expiresAt })
      .onConflict((conflict) => conflict.doNothing())
      .returning('challengeHash')
      .executeTakeFirst())
  if (!spent)
    fail('unauthorized', { field: 'credential', message: 'This passkey response was already used, or it expired. Try again.' })
}

function partsOf(challenge: string) {
  const [random = '', expiresAt = '', ...signature] = challenge.split('.')
  return { content: `${random}.${expiresAt}`, signature: signature.join('.'), expiresAt: Number(expiresAt) }
}

const purposeName = (purpose: ChallengePurpose): string =>
  purpose.act === 'registration'
    ? `passkey-registration ${purpose.user.id} ${hashToken(purpose.user.passwordHash)}`
    : 'passkey-sign-in'
