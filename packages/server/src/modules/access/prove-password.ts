import type { Caller } from '../../http/handler.ts'
import type { UserRow } from '../../platform/db/tables/access.ts'
import { fail } from '../../platform/failure.ts'
import { verifyPassword } from '../../platform/secrets/password.ts'
import type { AccessDeps } from './deps.ts'
import { findUser } from './store.ts'

const purpose = 'known-device'

/** An attempt to prove an identity. */
export interface Attempt {
  email: string
  /** The browser's known-device cookie; null without one. */
  device: string | null
  /** The client address to count, for a route whose requests are not all counted as sign-ins. */
  countedClient?: string
}

/**
 * Checks a password or code. A failed check counts as a wrong sign-in for the account, existing or not, from all clients
 * together. A browser that has signed in to the account before has its own counter, so an attacker cannot lock the owner out.
 */
export async function limitAttempts<Result>(attempt: Attempt, deps: AccessDeps, check: () => Promise<Result>): Promise<Result> {
  const account = attempt.email.toLowerCase()
  const deviceName = knownDeviceName(attempt, deps)
  const counterKey = deviceName ? `${account} ${deviceName}` : account
  const { countedClient } = attempt
  // Counted before the check, which may be slow: otherwise many concurrent guesses would pass before the first one fails.
  if (countedClient) deps.limiter.count('login', countedClient)
  deps.limiter.count('account', counterKey)
  const result = await check()
  if (countedClient) deps.limiter.uncount('login', countedClient)
  deps.limiter.uncount('account', counterKey)
  return result
}

/** Verifies a password. */
export const provePassword = (attempt: Attempt & { password: string }, user: UserRow | undefined, deps: AccessDeps) =>
  limitAttempts(attempt, deps, async () => {
    const proven = await verifyPassword(attempt.password, user?.passwordHash ?? null)
    if (!user || !proven) return fail('unauthorized', { message: 'Wrong e-mail address or password' })
    return user
  })

/** Verifies the password of a signed-in caller, before a change that a copied session must not make. Returns the user. */
export async function proveCurrentPassword(
  { currentPassword, ...attempt }: Attempt & { currentPassword: string },
  { userId }: Caller,
  deps: AccessDeps,
): Promise<UserRow> {
  try {
    return await provePassword({ ...attempt, password: currentPassword }, await findUser(deps.database.db, userId), deps)
  } catch (error) {
    if ((error as { code?: string }).code !== 'unauthorized') throw error
    return fail('unauthorized', { field: 'currentPassword', message: 'Wrong password' })
  }
}

/** The device cookie: `random.signature`. The signature is valid for this account only. */
export const knownDevice = (random: string, email: string, { secretBox }: Pick<AccessDeps, 'secretBox'>): string =>
  `${random}.${secretBox.sign(messageOf(random, email.toLowerCase()), purpose)}`

/**
 * The random part of a valid device cookie, else null. Only this part names the device, so characters after the signature cannot
 * create a second counter.
 */
export function knownDeviceName({ device, email }: Attempt, { secretBox }: Pick<AccessDeps, 'secretBox'>): string | null {
  if (!device) return null
  const dotIndex = device.indexOf('.')
  const random = device.slice(0, dotIndex)
  return secretBox.isSigned(device.slice(dotIndex + 1), messageOf(random, email.toLowerCase()), purpose) ? random : null
}

const messageOf = (random: string, account: string) => JSON.stringify([random, account])
