import type { UserRow } from '../../platform/db/tables/access.ts'
import { fail } from '../../platform/failure.ts'
import { verifyPassword } from '../../platform/secrets/password.ts'
import type { AccessDeps } from './deps.ts'

const purpose = 'known-device'

interface Attempt {
  email: string
  password: string
  /** The browser's known-device cookie; null without one. */
  device: string | null
}

/**
 * Verifies a password. Wrong passwords are counted per account, existing or not, from all clients together. A browser that has
 * signed in to the account before has its own counter, so an attacker cannot lock the owner out.
 */
export async function provePassword({ email, password, device }: Attempt, user: UserRow | undefined, deps: AccessDeps) {
  const account = email.toLowerCase()
  const deviceName = device && nameOfDevice(device, account, deps)
  const counterKey = deviceName ? `${account} ${deviceName}` : account
  // Counted before the slow hash check: otherwise many concurrent guesses would pass before the first one fails.
  deps.limiter.count('account', counterKey)
  const proven = await verifyPassword(password, user?.passwordHash ?? null)
  if (!user || !proven) fail('unauthorized', { message: 'Wrong e-mail address or password' })
  deps.limiter.uncount('account', counterKey)
  return user
}

/** The device cookie: `random.signature`. The signature is valid for this account only. */
export const knownDevice = (random: string, email: string, { secretBox }: Pick<AccessDeps, 'secretBox'>): string =>
  `${random}.${secretBox.sign(messageOf(random, email.toLowerCase()), purpose)}`

/**
 * The random part of a valid device cookie, else null. Only this part names the device, so characters after the signature cannot
 * create a second counter.
 */
function nameOfDevice(device: string, account: string, { secretBox }: AccessDeps): string | null {
  const dotIndex = device.indexOf('.')
  const random = device.slice(0, dotIndex)
  return secretBox.isSigned(device.slice(dotIndex + 1), messageOf(random, account), purpose) ? random : null
}

const messageOf = (random: string, account: string) => JSON.stringify([random, account])
