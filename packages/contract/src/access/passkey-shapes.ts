import { type Static, Type } from 'typebox'
import { Id, nullable, Time } from '../shape.ts'

/** Binary values of WebAuthn are base64url in JSON. */
const Base64Url = (maxLength: number) => Type.String({ minLength: 1, maxLength, pattern: '^[A-Za-z0-9_-]+$' })
const maxCredentialId = 1_400

export const Passkey = Type.Object({
  id: Id,
  name: Type.String(),
  hostname: Type.String({ description: 'The host name of the dashboard that it signs in to' }),
  isSynced: Type.Boolean({ description: 'Whether a password manager stores it for several devices' }),
  createdAt: Time,
  lastUsedAt: nullable(Time),
})
export type Passkey = Static<typeof Passkey>

const CredentialName = Type.Object({ id: Type.String(), type: Type.Literal('public-key') })

/** `PublicKeyCredentialCreationOptionsJSON` of WebAuthn. */
export const CreationOptions = Type.Object({
  rp: Type.Object({ id: Type.String(), name: Type.String() }),
  user: Type.Object({ id: Type.String(), name: Type.String(), displayName: Type.String() }),
  challenge: Type.String(),
  pubKeyCredParams: Type.Array(Type.Object({ alg: Type.Integer(), type: Type.Literal('public-key') })),
  timeout: Type.Integer({ description: 'Milliseconds' }),
  excludeCredentials: Type.Array(CredentialName),
  authenticatorSelection: Type.Object({ residentKey: Type.String(), userVerification: Type.String() }),
  attestation: Type.String(),
})
export type CreationOptions = Static<typeof CreationOptions>

/** `PublicKeyCredentialRequestOptionsJSON` of WebAuthn. Without `rpId`, browsers use the host name of the page. */
export const RequestOptions = Type.Object({
  challenge: Type.String(),
  timeout: Type.Integer({ description: 'Milliseconds' }),
  userVerification: Type.String(),
})
export type RequestOptions = Static<typeof RequestOptions>

const credentialOf = <T extends Parameters<typeof Type.Object>[0]>(response: T) =>
  Type.Object(
    {
      id: Base64Url(maxCredentialId),
      rawId: Base64Url(maxCredentialId),
      type: Type.Literal('public-key'),
      response: Type.Object(response),
    },
    { description: 'The credential as `PublicKeyCredential.toJSON()` returns it' },
  )

/** The parts of `RegistrationResponseJSON` that are checked. */
export const RegistrationResponse = credentialOf({
  clientDataJSON: Base64Url(8_192),
  attestationObject: Base64Url(16_384),
})
export type RegistrationResponse = Static<typeof RegistrationResponse>

/** The parts of `AuthenticationResponseJSON` that are checked. */
export const AssertionResponse = credentialOf({
  clientDataJSON: Base64Url(8_192),
  authenticatorData: Base64Url(8_192),
  signature: Base64Url(4_096),
  userHandle: Type.Optional(nullable(Type.String({ maxLength: 200 }))),
})
export type AssertionResponse = Static<typeof AssertionResponse>
