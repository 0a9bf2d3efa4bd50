import type { AssertionResponse, RegistrationResponse } from '@berth/contract'
import { fail } from '../../platform/failure.ts'

/** The credential did not pass a check. The message names the reason, for the log. */
export class Unverified extends Error {
  override readonly name = 'Unverified'
}

/**
 * The checks of WebAuthn, by `@simplewebauthn/server`. It is loaded with the first passkey, because most requests need none of it.
 */
const library = () => import('@simplewebauthn/server')
const helpers = () => import('@simplewebauthn/server/helpers')

/** The page that asked the browser for the credential. */
export interface Relying {
  /** `https://berth.example.com` */
  origin: string
  /** The host name of the origin. Browsers bind a passkey to it. */
  hostname: string
}

export type IsChallenge = (challenge: string) => boolean

/** Checks a new credential and returns what later sign-ins are checked against. */
export async function checkRegistration(
  credential: RegistrationResponse,
  { origin, hostname }: Relying,
  isChallenge: IsChallenge,
) {
  await refuseCertificates(credential)
  const { verifyRegistrationResponse } = await library()
  const { verified, registrationInfo } = await checking(() =>
    verifyRegistrationResponse({
      response: { ...credential, clientExtensionResults: {} },
      expectedChallenge: (challenge) => isChallenge(textOf(challenge)),
      expectedOrigin: origin,
      expectedRPID: hostname,
      requireUserVerification: true,
      supportedAlgorithmIDs: algorithms,
    }),
  )
  if (!verified) throw new Unverified('the registration is not verified')
  const { credential: created, credentialBackedUp } = registrationInfo
  return {
    credentialId: created.id,
    publicKey: Buffer.from(created.publicKey).toString('base64url'),
    counter: created.counter,
    isSynced: credentialBackedUp,
  }
}

/**
 * Berth asks for no attestation. A statement with certificates is refused before the library sees it: checking one would fetch the
 * revocation lists that the certificates name, from any address.
 */
async function refuseCertificates({ response }: RegistrationResponse): Promise<void> {
  const { decodeAttestationObject } = await helpers()
  const bytes = new Uint8Array(Buffer.from(response.attestationObject, 'base64url'))
  // The object is a stranger's CBOR: any of its parts may be missing or of another type.
  const isAccepted = await checking(async () => {
    const decoded = decodeAttestationObject(bytes)
    const format = decoded.get('fmt')
    return format === 'none' || (format === 'packed' && decoded.get('attStmt').get('x5c') === undefined)
  })
  if (!isAccepted)
    fail('validation_failed', {
      field: 'credential.response.attestationObject',
      message: 'Berth accepts no attestation. Create the passkey with the options of POST /auth/passkeys/registration.',
    })
}

interface StoredPasskey {
  credentialId: string
  publicKey: string
  counter: number
}

/** Checks the signature of a sign-in and returns the new counter. */
export async function checkAssertion(
  credential: AssertionResponse,
  passkey: StoredPasskey,
  { origin, hostname }: Relying,
  isChallenge: IsChallenge,
): Promise<{ counter: number; isSynced: boolean }> {
  const { verifyAuthenticationResponse } = await library()
  const { userHandle, ...response } = credential.response
  const { verified, authenticationInfo } = await checking(() =>
    verifyAuthenticationResponse({
      response: { ...credential, response: { ...response, ...(userHandle ? { userHandle } : {}) }, clientExtensionResults: {} },
      expectedChallenge: (challenge) => isChallenge(textOf(challenge)),
      expectedOrigin: origin,
      expectedRPID: hostname,
      requireUserVerification: true,
      credential: {
        id: passkey.credentialId,
        publicKey: new Uint8Array(Buffer.from(passkey.publicKey, 'base64url')),
        counter: passkey.counter,
      },
    }),
  )
  if (!verified) throw new Unverified('the signature does not match')
  return { counter: authenticationInfo.newCounter, isSynced: authenticationInfo.credentialBackedUp }
}

/** The library throws plain errors for credentials that it refuses. */
async function checking<Result>(check: () => Promise<Result>): Promise<Result> {
  try {
    return await check()
  } catch (cause) {
    throw new Unverified('the credential was refused', { cause })
  }
}

/** The challenge that the client signed; '' if the client data is not what a browser sends. */
export function challengeIn({ clientDataJSON }: { clientDataJSON: string }): string {
  try {
    const { challenge } = JSON.parse(textOf(clientDataJSON)) as { challenge?: unknown }
    return typeof challenge === 'string' ? textOf(challenge) : ''
  } catch {
    return ''
  }
}

const textOf = (base64Url: string): string => Buffer.from(base64Url, 'base64url').toString()

/** COSE numbers of the signature algorithms that are offered: Ed25519, ES256 and RS256, which every browser supports. */
export const algorithms = [-8, -7, -257]
