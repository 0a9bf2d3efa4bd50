import { limits } from '@berth/contract'
import { SecretBoxError } from '../../../platform/secrets/secret-box.ts'
import { hashToken } from '../../../platform/secrets/token.ts'
import type { GitHostDeps } from '../deps.ts'

/**
 * The git host's response, kept while the user is asked for consent. It is stored only in the browser's cookie, sealed for the
 * state in its page.
 */
export interface PendingAnswer {
  code: string | null
  installationId: number | null
}

const name = 'berth_git_connect'
const sealContextOf = (state: string) => `git-connect:${hashToken(state)}`

export function consentCookie(answer: PendingAnswer, state: string, isSecure: boolean, { secretBox }: GitHostDeps): string {
  const value = secretBox.seal(JSON.stringify(answer), sealContextOf(state))
  const attributes = `Path=/api/gitprovider/connect; HttpOnly; SameSite=Lax; Max-Age=${limits.oauthStateSeconds}`
  return `${name}=${value}; ${attributes}${isSecure ? '; Secure' : ''}`
}

/** Returns null when the cookie is missing or belongs to another state. */
export function readConsentCookie(cookies: string | undefined, state: string, { secretBox }: GitHostDeps): PendingAnswer | null {
  const cookieValue = cookies
    ?.split(';')
    .map((part) => part.trim())
    .find((part) => part.startsWith(`${name}=`))
  if (!cookieValue) return null
  try {
    return JSON.parse(secretBox.open(cookieValue.slice(name.length + 1), sealContextOf(state)).reveal()) as PendingAnswer
  } catch (error) {
    if (error instanceof SecretBoxError) return null
    throw error
  }
}
