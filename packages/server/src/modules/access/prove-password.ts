import type { UserRow } from '../../platform/db/tables/access.ts'
import { fail } from '../../platform/failure.ts'
import { verifyPassword } from '../../platform/secrets/password.ts'
import type { AccessDeps } from './deps.ts'

const purpose = 'known-device'

interface Attempt {
  email: string
  password: string
  /** What the browser brought of an earlier time; null: nothing. */
  device: string | null
}

/**
 * Wrong passwords are counted for the account, known or not, wherever they come from. A browser that has signed in to it
 * before is counted apart from all others: whoever guesses from elsewhere does not lock its owner out.
 */
export async function provePassword({ email, password, device }: Attempt, user: UserRow | undefined, deps: AccessDeps) {
  const account = email.toLowerCase()
  const known = device && nameOfDevice(device, account, deps)
  const counted = known ? `${account} ${known}` : account
  // Counted before the dear work, or a hundred guesses at once would all come before the first is known to be wrong.
  deps.limiter.take('account', counted)
  const proven = await verifyPassword(password, user?.passwordHash ?? null)
  if (!user || !proven) fail('unauthorized', { words: 'The e-mail address or the password is wrong' })
  deps.limiter.giveBack('account', counted)
  return user
}

/** `random.signature`, of which the signature is for this account alone. */
export const knownDevice = (random: string, email: string, { secretBox }: Pick<AccessDeps, 'secretBox'>): string =>
  `${random}.${secretBox.sign(messageOf(random, email.toLowerCase()), purpose)}`

/** What is random in it, or null. What follows the signature's end must not make two devices of one. */
function nameOfDevice(device: string, account: string, { secretBox }: AccessDeps): string | null {
  const at = device.indexOf('.')
  const random = device.slice(0, at)
  return secretBox.isSigned(device.slice(at + 1), messageOf(random, account), purpose) ? random : null
}

const messageOf = (random: string, account: string) => JSON.stringify([random, account])
