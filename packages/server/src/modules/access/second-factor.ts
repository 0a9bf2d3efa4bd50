import type { TotpStatus } from '@berth/contract'
import type { Caller } from '../../http/handler.ts'
import { isoOrNull } from '../../platform/db/columns.ts'
import type { Db } from '../../platform/db/schema.ts'
import { sealedFor } from '../../platform/db/sealed-columns.ts'
import type { TotpFactorRow } from '../../platform/db/tables/access.ts'
import { unrecorded } from '../../platform/db/write-record.ts'
import { fail } from '../../platform/failure.ts'
import type { AccessDeps } from './deps.ts'
import { type Attempt, knownDeviceName, limitAttempts } from './prove-password.ts'
import { countRecoveryCodes, deleteRecoveryCodes, replaceRecoveryCodes, spendRecoveryCode } from './recovery-codes.ts'
import { endOtherSessions } from './sessions.ts'
import { newTotpSecret, stepOfTotpCode, totpUri } from './totp.ts'

/**
 * Failed attempts per user before further ones are refused. The limits of `limitAttempts` reset after a minute, so without this
 * limit an attacker who knows the password could try enough codes in a day.
 */
const maxAttempts = { count: 10, withinMs: 3_600_000 }

export async function totpStatus({ userId }: Caller, { database: { db } }: AccessDeps): Promise<TotpStatus> {
  const confirmedAt = (await findTotp(db, userId))?.confirmedAt ?? null
  return {
    enabled: confirmedAt !== null,
    enabledAt: isoOrNull(confirmedAt),
    recoveryCodesLeft: await countRecoveryCodes(db, userId),
  }
}

/** Begins the set-up. An unconfirmed secret is replaced. */
export async function beginTotp(caller: Caller, { database, secretBox, publicUrl }: AccessDeps) {
  refuseToken(caller)
  const { userId, email } = caller
  const secret = newTotpSecret()
  const sealed = secretBox.seal(secret, sealedFor.totpSecret(userId))
  const saved = await database.db
    .insertInto('totpFactors')
    .values({ userId, secret: sealed, confirmedAt: null, lastStep: 0, attempts: 0, attemptsSince: 0 })
    .onConflict((conflict) =>
      conflict.column('userId').doUpdateSet({ secret: sealed }).where('totpFactors.confirmedAt', 'is', null),
    )
    .returning('userId')
    .executeTakeFirst()
  if (!saved) refuseSecondSetUp()
  return { secret, uri: totpUri(secret, { issuer: `Berth ${hostOf(publicUrl())}`.trim(), account: email }) }
}

/**
 * Turns two-factor authentication on. The code is not used up: an attacker who can read this request has also read the response
 * with the secret.
 */
export async function confirmTotp(code: string, caller: Caller, attempt: Attempt, deps: AccessDeps): Promise<string[]> {
  refuseToken(caller)
  const { database, clock } = deps
  const { userId } = caller
  const row = await findTotp(database.db, userId)
  if (!row) return fail('conflict', { message: 'Two-factor authentication is not being set up. Start with POST /auth/totp.' })
  if (row.confirmedAt !== null) refuseSecondSetUp()
  const now = clock.now().getTime()
  return limitAttempts(attempt, deps, async () => {
    if (stepOfTotpCode(secretOf(row, deps), digitsOf(code), now) === null) refuseCode()
    return database.transaction(async ({ db }) => {
      const confirmed = await db
        .updateTable('totpFactors')
        .set({ confirmedAt: now })
        .where('userId', '=', userId)
        .where('confirmedAt', 'is', null)
        // Another set-up may have replaced the secret meanwhile.
        .where('secret', '=', row.secret)
        .returning('userId')
        .executeTakeFirst()
      if (!confirmed) fail('conflict', { message: 'The set-up was started again meanwhile. Confirm the newest secret.' })
      // The other sessions were opened with the password alone.
      await endOtherSessions(db, caller)
      return replaceRecoveryCodes(db, userId)
    })
  })
}

/** Turns two-factor authentication off. */
export async function removeTotp(code: string, { userId }: Caller, attempt: Attempt, deps: AccessDeps): Promise<void> {
  const row = await findTotp(deps.database.db, userId)
  if (!row || row.confirmedAt === null) fail('conflict', { message: 'Two-factor authentication is off' })
  await withSecondFactor({ ...attempt, userId, code }, deps, (spend) =>
    deps.database.transaction(async ({ db }) => {
      await spend(db)
      await deleteSecondFactor(db, userId)
    }),
  )
}

export const hasTotp = async (db: Db, userId: string): Promise<boolean> =>
  ((await findTotp(db, userId))?.confirmedAt ?? null) !== null

export async function deleteSecondFactor(db: Db, userId: string): Promise<void> {
  await db.deleteFrom('totpFactors').where('userId', '=', userId).execute()
  await deleteRecoveryCodes(db, userId)
}

/** Marks the code as used, within the transaction of the write that it authorizes. Returns the kind of the code. */
export type SpendCode = (db: Db) => Promise<'none' | 'totp' | 'recovery code'>

/** Runs `work`, which must call `spend`. A user without two-factor authentication needs no code. */
export async function withSecondFactor<Result>(
  attempt: Attempt & { userId: string; code: string | undefined },
  deps: AccessDeps,
  work: (spend: SpendCode) => Promise<Result>,
): Promise<Result> {
  const { userId, code } = attempt
  const row = await findTotp(deps.database.db, userId)
  if (!row || row.confirmedAt === null) return work(async () => 'none')
  if (code === undefined) return fail('second_factor_required')
  return limitAttempts(attempt, deps, async () => {
    await countAttempt(row, attempt, deps)
    return work((db) => spendCode(db, row, code, deps))
  })
}

/** Uses a code up: of two requests with the same code one wins. */
async function spendCode(db: Db, row: TotpFactorRow, code: string, deps: AccessDeps): Promise<'totp' | 'recovery code'> {
  const { userId } = row
  const step = stepOfTotpCode(secretOf(row, deps), digitsOf(code), deps.clock.now().getTime())
  if (step === null) {
    if (!(await spendRecoveryCode(db, userId, code))) refuseCode()
    await db.updateTable('totpFactors').set({ attempts: 0 }).where('userId', '=', userId).execute()
    return 'recovery code'
  }
  const spent = await db
    .updateTable('totpFactors')
    .set({ lastStep: step, attempts: 0 })
    .where('userId', '=', userId)
    .where('secret', '=', row.secret)
    .where('lastStep', '<', step)
    .returning('userId')
    .executeTakeFirst()
  if (!spent) fail('unauthorized', { field: 'code', message: 'This code was already used. Wait for the next one.' })
  return 'totp'
}

/** Counts an attempt before its code is checked, so that concurrent attempts, also at other control planes, are all counted. */
async function countAttempt({ userId }: TotpFactorRow, attempt: Attempt, deps: AccessDeps): Promise<void> {
  // A known device is limited by its own counter, so an attacker who knows the password cannot lock the owner out.
  if (knownDeviceName(attempt, deps)) return
  const now = deps.clock.now().getTime()
  const counted = await unrecorded(() =>
    deps.database.db
      .updateTable('totpFactors')
      .set((eb) => {
        const isHourOver = eb('attemptsSince', '<=', now - maxAttempts.withinMs)
        return {
          attempts: eb
            .case()
            .when(isHourOver)
            .then(1)
            .else(eb('attempts', '+', 1))
            .end(),
          attemptsSince: eb
            .case()
            .when(isHourOver.or('attempts', '=', 0))
            .then(now)
            .else(eb.ref('attemptsSince'))
            .end(),
        }
      })
      .where('userId', '=', userId)
      .returning(['attempts', 'attemptsSince'])
      .executeTakeFirst(),
  )
  if (!counted || counted.attempts <= maxAttempts.count) return
  const retryAfterSeconds = Math.max(1, Math.ceil((counted.attemptsSince + maxAttempts.withinMs - now) / 1000))
  fail('rate_limited', {
    retryAfterSeconds,
    message: 'Too many wrong codes. Try again later, or sign in with a browser you used before.',
  })
}

const findTotp = (db: Db, userId: string): Promise<TotpFactorRow | undefined> =>
  db.selectFrom('totpFactors').selectAll().where('userId', '=', userId).executeTakeFirst()

const secretOf = ({ userId, secret }: TotpFactorRow, { secretBox }: AccessDeps): string =>
  secretBox.open(secret, sealedFor.totpSecret(userId)).reveal()

/** Apps show codes as `123 456`. */
const digitsOf = (code: string): string => code.replaceAll(' ', '')

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).hostname : '')

/** A token with scopes must not lock its user out, and a leaked token must not open what the second factor protects. */
function refuseToken({ scopes, tokenId, needsSecondFactor }: Caller): void {
  if (scopes)
    fail('forbidden', {
      message: 'A token with scopes cannot set up two-factor authentication. Sign in, or use a token without scopes.',
    })
  if (tokenId && needsSecondFactor)
    fail('forbidden', {
      message: 'A token cannot set up two-factor authentication while an organisation requires it. Sign in to the dashboard.',
    })
}

const refuseCode = (): never => fail('unauthorized', { field: 'code', message: 'Wrong code' })
const refuseSecondSetUp = (): never =>
  fail('conflict', { message: 'Two-factor authentication is already on. Turn it off first.' })
