import { type Static, Type } from 'typebox'
import { Id, nullable, Time } from '../shape.ts'

/** Binary values of WebAuthn are base64url in JSON. */
const Base64Url = (maxLength: number, description: string) =>
  Type.String({ minLength: 1, maxLength, pattern: '^[A-Za-z0-9_-]+$', description })
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

const UserVerification = Type.String({ description: 'Whether the device checks its user by fingerprint, face or PIN' })
const CredentialName = Type.Object({ id: Type.String(), type: Type.Literal('public-key') })

/** `PublicKeyCredentialCreationOptionsJSON` of WebAuthn. */
export const CreationOptions = Type.Object({
  rp: Type.Object({ id: Type.String(), name: Type.String() }, { description: 'The host name that the passkey belongs to' }),
  user: Type.Object({
    id: Type.String(),
    name: Type.String(),
    displayName: Type.String({ description: 'The name that the device shows' }),
  }),
  challenge: Type.String({ description: 'Random text that the device signs; it is accepted once' }),
  pubKeyCredParams: Type.Array(
    Type.Object({ alg: Type.Integer({ description: 'COSE number of the algorithm' }), type: Type.Literal('public-key') }),
    { description: 'Accepted signature algorithms' },
  ),
  timeout: Type.Integer({ description: 'Milliseconds' }),
  excludeCredentials: Type.Array(CredentialName, { description: 'Passkeys of the user, so that a device adds no second one' }),
  authenticatorSelection: Type.Object(
    { residentKey: Type.String({ description: 'Whether the device stores the passkey' }), userVerification: UserVerification },
    { description: 'Requirements of the device' },
  ),
  attestation: Type.String({ description: 'Always `none`: Berth does not ask for the make of the device' }),
})
export type CreationOptions = Static<typeof CreationOptions>

/** `PublicKeyCredentialRequestOptionsJSON` of WebAuthn. Without `rpId`, browsers use the host name of the page. */
export const RequestOptions = Type.Object({
  challenge: Type.String({ description: 'Random text that the device signs; it is accepted once' }),
  timeout: Type.Integer({ description: 'Milliseconds' }),
  userVerification: UserVerification,
})
export type RequestOptions = Static<typeof RequestOptions>

const ClientData = Base64Url(8_192, 'The challenge and the origin of the page, as the browser wrote them')

const credentialOf = <T extends Parameters<typeof Type.Object>[0]>(response: T) =>
  Type.Object(
    {
      id: Base64Url(maxCredentialId, 'Id of the passkey'),
      rawId: Base64Url(maxCredentialId, 'The same id'),
      type: Type.Literal('public-key'),
      response: Type.Object(response, { description: 'What the device returned, in base64url' }),
    },
    { description: 'The credential as `PublicKeyCredential.toJSON()` returns it' },
  )

/** The parts of `RegistrationResponseJSON` that are checked. */
export const RegistrationResponse = credentialOf({
  clientDataJSON: ClientData,
  attestationObject: Base64Url(16_384, 'The public key, and data about the device'),
})
export type RegistrationResponse = Static<typeof RegistrationResponse>

/** The parts of `AuthenticationResponseJSON` that are checked. */
export const AssertionResponse = credentialOf({
  clientDataJSON: ClientData,
  authenticatorData: Base64Url(8_192, 'Data of the device that it signed'),
  signature: Base64Url(4_096, 'Signature by the passkey'),
  userHandle: Type.Optional(nullable(Type.String({ maxLength: 200, description: 'The user that the device stored' }))),
})
export type AssertionResponse = Static<typeof AssertionResponse>
