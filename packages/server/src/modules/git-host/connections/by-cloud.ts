import { createHash, randomBytes } from 'node:crypto'
import type { HandedTokens } from '@berth/contract'
import type { AccountTokens } from '../../../drivers/git-host/git-host.ts'
import { GitHostError } from '../../../drivers/git-host/git-host-error.ts'
import { Secret } from '../../../platform/secrets/secret.ts'
import type { GitHostDeps } from '../deps.ts'

export const handoffLocation = 'git-host-handoff'

/**
 * Sign-in through a cloud, on the side of the instance. Nothing is stored: the verifier is the signature of the nonce. The
 * browser knows the nonce but cannot sign it.
 */
export const newNonce = (): string => randomBytes(16).toString('base64url')
export const challengeOf = (verifier: string): string => createHash('sha256').update(verifier).digest('base64url')
export const verifierOf = (nonce: string, { secretBox }: GitHostDeps): string => secretBox.sign(nonce, handoffLocation)

/** Tokens from the cloud, which is another machine and is not trusted. */
export function tokensFrom({ accessToken, refreshToken, lifetimeSeconds }: HandedTokens): AccountTokens {
  const isToken = (text: unknown): text is string => typeof text === 'string' && /^[\x21-\x7e]{1,4000}$/.test(text)
  if (!isToken(accessToken)) throw new GitHostError('invalidResponse', 'The cloud returned a login without a token')
  return {
    accessToken: new Secret(accessToken),
    refreshToken: isToken(refreshToken) ? new Secret(refreshToken) : null,
    lifetimeSeconds: Number.isSafeInteger(lifetimeSeconds) && lifetimeSeconds! > 0 ? lifetimeSeconds : null,
  }
}
