import type { Method } from '@berth/contract'
import { totpCode, totpStepAt } from '../../src/modules/access/totp.ts'
import { type Answer, type CallInput, call } from './call.ts'
import type { TestInstance } from './instance.ts'
import { type Person, password } from './people.ts'

const host = 'berth.test'

/** Sends the sign-in form. */
export const signIn = (
  instance: TestInstance,
  { email }: Pick<Person, 'email'>,
  { headers = {}, ...body }: { password?: string; code?: string; headers?: Record<string, string> } = {},
): Promise<Answer> =>
  call(instance, null, 'POST /auth/login', { body: { email, password, ...body }, headers: { host, ...headers } })

/** The session cookie of a sign-in. */
export function cookieOf({ headers, status, body }: Answer): string {
  const cookie = String(headers['set-cookie']).split(';')[0]
  if (status > 201 || !cookie) throw new Error(`not signed in: ${status} ${JSON.stringify(body)}`)
  return cookie
}

/** Calls a route with a session cookie, from a page of the dashboard. */
export const callAs = (instance: TestInstance, cookie: string, at: `${Method} /${string}`, input: CallInput = {}) =>
  call(instance, null, at, { ...input, headers: { host, origin: `http://${host}`, cookie, ...input.headers } })

/** Returns the code that an authenticator app shows at a time, or `steps` periods later. */
export const codeOf = (secret: string, now: number, steps = 0): string => totpCode(secret, totpStepAt(now) + steps)

/** Turns two-factor authentication on with the user's token. */
export async function turnOnTotp(instance: TestInstance, { token }: Pick<Person, 'token'>, now: number) {
  const { secret } = (await call(instance, token, 'POST /auth/totp')).body.data as { secret: string }
  const body = { code: codeOf(secret, now) }
  const { data } = (await call(instance, token, 'POST /auth/totp/confirm', { body })).body
  return { secret, recoveryCodes: data.recoveryCodes as string[] }
}
