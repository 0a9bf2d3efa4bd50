import { isIP } from 'node:net'
import type { AssertionResponse, BodyOf, CreationOptions, contract, Passkey, RequestOptions } from '@berth/contract'
import type { Caller, RequestContext } from '../../http/handler.ts'
import { iso, isoOrNull } from '../../platform/db/columns.ts'
import { newId } from '../../platform/db/ids.ts'
import { page as pageOf } from '../../platform/db/pages.ts'
import type { Db } from '../../platform/db/schema.ts'
import type { PasskeyRow } from '../../platform/db/tables/access.ts'
import { isUniqueViolation } from '../../platform/db/violations.ts'
import { describeWrite } from '../../platform/db/write-record.ts'
import { fail } from '../../platform/failure.ts'
import type { AccessDeps } from './deps.ts'
import { challengeMs, isOwnChallenge, newChallenge, spendChallenge } from './passkey-challenge.ts'
import { type Attempt, proveCurrentPassword } from './prove-password.ts'
import { withSecondFactor } from './second-factor.ts'
import type { SessionClient } from './sessions.ts'
import { openSession } from './sign-in.ts'
import { findUser, type ListRequest, lockUser, newestFirst, paging } from './store.ts'
import { algorithms, challengeIn, checkAssertion, checkRegistration, type Relying, Unverified } from './webauthn.ts'

const maxPasskeys = 20

type PageRequest = Pick<RequestContext, 'headers' | 'isCrossOrigin'>

export const listPasskeys = (db: Db, userId: string, request: ListRequest) =>
  pageOf(db.selectFrom('passkeys').selectAll().where('userId', '=', userId), { ...paging(request), ...newestFirst })

export const showPasskey = (row: PasskeyRow): Passkey => ({
  id: row.id,
  name: row.name,
  hostname: row.hostname,
  isSynced: row.isSynced === 1,
  createdAt: iso(row.createdAt),
  lastUsedAt: isoOrNull(row.lastUsedAt),
})

/** The page that sent the request. Browsers create passkeys for host names, and send the Origin header with every POST. */
function relyingOn({ headers, isCrossOrigin }: PageRequest): Relying {
  const { origin } = headers
  if (isCrossOrigin || typeof origin !== 'string' || !URL.canParse(origin))
    return fail('conflict', {
      message: 'Passkeys are used from a page of the dashboard. The Origin header does not match this instance.',
    })
  const { hostname } = new URL(origin)
  if (isIP(hostname.replace(/^\[|\]$/g, '')) !== 0)
    fail('conflict', {
      message: `Browsers use passkeys only with a host name. Open the dashboard at its host name instead of ${hostname}${hostname === '127.0.0.1' ? ', for example http://localhost' : ''}.`,
    })
  return { origin, hostname }
}

/**
 * Asks for the password and the second factor, because the passkey signs in without them: otherwise a copied session would become a way
 * to sign in for ever.
 */
export async function beginPasskey(
  { currentPassword, code }: BodyOf<typeof contract.access.beginPasskey>,
  caller: Caller,
  page: PageRequest,
  attempt: Attempt,
  deps: AccessDeps,
): Promise<CreationOptions> {
  refuseScopes(caller)
  const { hostname } = relyingOn(page)
  const { db } = deps.database
  const user = await proveCurrentPassword({ ...attempt, currentPassword }, caller, deps)
  const existing = await db.selectFrom('passkeys').selectAll().where('userId', '=', caller.userId).execute()
  if (existing.length >= maxPasskeys)
    fail('conflict', { message: `An account has at most ${maxPasskeys} passkeys. Remove one first.` })
  await withSecondFactor({ ...attempt, userId: caller.userId, code }, deps, (spend) =>
    deps.database.transaction(({ db }) => spend(db)),
  )
  return {
    rp: { id: hostname, name: 'Berth' },
    user: { id: base64Url(caller.userId), name: caller.email, displayName: caller.email },
    challenge: base64Url(newChallenge({ act: 'registration', user }, deps)),
    pubKeyCredParams: algorithms.map((alg) => ({ alg, type: 'public-key' })),
    timeout: challengeMs,
    excludeCredentials: existing
      .filter((row) => row.hostname === hostname)
      .map(({ credentialId }) => ({ id: credentialId, type: 'public-key' })),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    attestation: 'none',
  }
}

export async function addPasskey(
  { name, credential }: BodyOf<typeof contract.access.addPasskey>,
  caller: Caller,
  page: PageRequest,
  deps: AccessDeps,
): Promise<PasskeyRow> {
  refuseScopes(caller)
  const relying = relyingOn(page)
  const { userId } = caller
  const user = (await findUser(deps.database.db, userId)) ?? fail('unauthorized')
  const isChallenge = (challenge: string) => isOwnChallenge(challenge, { act: 'registration', user }, deps)
  const created = await checkRegistration(credential, relying, isChallenge).catch((cause) => {
    if (!(cause instanceof Unverified)) throw cause
    return fail('validation_failed', {
      field: 'credential',
      message: 'The passkey could not be verified, or five minutes have passed. Start again.',
      cause,
    })
  })
  const row: PasskeyRow = {
    id: newId('psk'),
    userId,
    name: name.trim(),
    hostname: relying.hostname,
    ...created,
    isSynced: created.isSynced ? 1 : 0,
    createdAt: deps.clock.now().getTime(),
    lastUsedAt: null,
  }
  try {
    await deps.database.transaction(async ({ db, lock }) => {
      await lock(`passkeys:${userId}`)
      // A reset of the password removes passkeys: it commits before or after this transaction.
      if ((await lockUser(db, userId))?.passwordHash !== user.passwordHash)
        fail('unauthorized', { field: 'credential', message: 'The password was changed meanwhile. Start again.' })
      await spendChallenge(db, challengeIn(credential.response), deps)
      const { count } = await db
        .selectFrom('passkeys')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .where('userId', '=', userId)
        .executeTakeFirstOrThrow()
      if (Number(count) >= maxPasskeys)
        fail('conflict', { message: `An account has at most ${maxPasskeys} passkeys. Remove one first.` })
      await db.insertInto('passkeys').values(row).execute()
      describeWrite({ changes: { name: row.name, hostname: row.hostname } })
    })
  } catch (error) {
    if (isUniqueViolation(error)) fail('conflict', { message: 'This passkey is already registered' })
    throw error
  }
  return row
}

/** Options of a sign-in: the browser offers the passkeys that it has for the host name. */
export const passkeyOptions = (deps: AccessDeps): RequestOptions => ({
  challenge: base64Url(newChallenge({ act: 'sign-in' }, deps)),
  timeout: challengeMs,
  userVerification: 'required',
})

/** Signs in. The device has verified its user, so the passkey is both factors. */
export async function signInWithPasskey(
  credential: AssertionResponse,
  page: PageRequest,
  client: SessionClient,
  deps: AccessDeps,
) {
  const { database, clock } = deps
  const relying = relyingOn(page)
  const passkey = await database.db
    .selectFrom('passkeys')
    .selectAll()
    .where('credentialId', '=', credential.id)
    .where('hostname', '=', relying.hostname)
    .executeTakeFirst()
  const { userHandle } = credential.response
  if (!passkey || (userHandle && userHandle !== base64Url(passkey.userId))) return refusePasskey()
  const isChallenge = (challenge: string) => isOwnChallenge(challenge, { act: 'sign-in' }, deps)
  const { counter, isSynced } = await checkAssertion(credential, passkey, relying, isChallenge).catch((cause) => {
    if (!(cause instanceof Unverified)) throw cause
    return refusePasskey(cause)
  })
  return database.transaction(async ({ db }) => {
    await spendChallenge(db, challengeIn(credential.response), deps)
    // The update fails for a passkey that was removed or used meanwhile.
    const used = await db
      .updateTable('passkeys')
      .set({ counter, isSynced: isSynced ? 1 : 0, lastUsedAt: clock.now().getTime() })
      .where('id', '=', passkey.id)
      .where('counter', '=', passkey.counter)
      .returning('name')
      .executeTakeFirst()
    if (!used) refusePasskey()
    const user = await findUser(db, passkey.userId)
    describeWrite({ changes: { email: user?.email, passkey: passkey.name } })
    return openSession(db, passkey.userId, client, deps)
  })
}

const refusePasskey = (cause?: unknown): never =>
  fail('unauthorized', {
    field: 'credential',
    message: 'This passkey is not known here, or the request expired. Try again, or sign in with your password.',
    cause,
  })

/** A passkey signs in with all permissions: a limited token must not create one. */
function refuseScopes({ scopes }: Caller): void {
  if (scopes) fail('forbidden', { message: 'A token with scopes cannot add a passkey. Sign in, or use a token without scopes.' })
}

const base64Url = (text: string): string => Buffer.from(text).toString('base64url')
