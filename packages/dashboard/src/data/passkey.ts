import type { AssertionResponse, CreationOptions, RegistrationResponse, RequestOptions } from '@berth/contract'

/** Why this page cannot use passkeys; undefined if it can. */
export function passkeyRefusal(): string | undefined {
  if (isAddress(location.hostname)) return 'Passkeys need a host name. Open the dashboard at its host name, not its IP address.'
  if (!window.isSecureContext) return 'Passkeys need https. Open the dashboard at its https address.'
  if (!('PublicKeyCredential' in window) || !PublicKeyCredential.parseRequestOptionsFromJSON)
    return 'This browser does not support passkeys. Use a newer version.'
  return undefined
}

/** Whether a host name is an IPv4 address, or an IPv6 address in brackets. */
export const isAddress = (hostname: string): boolean => /^\[|^\d+(\.\d+){3}$/.test(hostname)

/** Creates a passkey on a device of the user. */
export async function createPasskey(options: CreationOptions): Promise<RegistrationResponse> {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(
    options as Parameters<typeof PublicKeyCredential.parseCreationOptionsFromJSON>[0],
  )
  const { id, rawId, response } = (await jsonOf(navigator.credentials.create({ publicKey }))) as RegistrationResponse
  const { clientDataJSON, attestationObject } = response
  return { id, rawId, type: 'public-key', response: { clientDataJSON, attestationObject } }
}

/** Signs a challenge with a passkey that the user chooses. */
export async function signWithPasskey(options: RequestOptions): Promise<AssertionResponse> {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(
    options as Parameters<typeof PublicKeyCredential.parseRequestOptionsFromJSON>[0],
  )
  const { id, rawId, response } = (await jsonOf(navigator.credentials.get({ publicKey }))) as AssertionResponse
  const { clientDataJSON, authenticatorData, signature, userHandle = null } = response
  return { id, rawId, type: 'public-key', response: { clientDataJSON, authenticatorData, signature, userHandle } }
}

async function jsonOf(created: Promise<Credential | null>): Promise<unknown> {
  try {
    const credential = await created
    if (!credential) throw new Error(cancelled)
    return (credential as PublicKeyCredential).toJSON()
  } catch (error) {
    throw new Error(messageOf(error), { cause: error })
  }
}

const cancelled = 'No passkey was used. Try again.'

/** The browser's own messages are written for developers. */
function messageOf(error: unknown): string {
  if (!(error instanceof DOMException)) return error instanceof Error ? error.message : cancelled
  if (error.name === 'InvalidStateError') return 'This device already has a passkey for your account.'
  return cancelled
}
