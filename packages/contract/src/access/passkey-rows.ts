import { Type } from 'typebox'
import { route } from '../route.ts'
import { data, filledText, list, PageQuery, secret, text } from '../shape.ts'
import { AssertionResponse, CreationOptions, Passkey, RegistrationResponse, RequestOptions } from './passkey-shapes.ts'
import { SecondFactorCode, Session } from './shapes.ts'

/** Passkeys (WebAuthn): a user signs in with a device in place of e-mail address, password and code. */
export const passkeyRows = {
  listPasskeys: route('GET /auth/passkeys', {
    permission: 'token:list',
    query: PageQuery,
    returns: list(Passkey),
    summary: 'Your passkeys',
  }),
  beginPasskey: route('POST /auth/passkeys/registration', {
    confirm: true,
    permission: 'token:write',
    body: Type.Object({ currentPassword: secret(text(200, 1)), code: Type.Optional(SecondFactorCode) }),
    returns: data(CreationOptions),
    errors: ['unauthorized', 'second_factor_required', 'forbidden', 'conflict', 'rate_limited'],
    summary:
      'Begin to add a passkey: options for `navigator.credentials.create`, valid for five minutes. With two-factor authentication, `code` is required',
  }),
  addPasskey: route('POST /auth/passkeys', {
    confirm: true,
    permission: 'token:write',
    status: 201,
    body: Type.Object({ name: filledText(100), credential: RegistrationResponse }),
    returns: data(Passkey),
    errors: ['conflict', 'unauthorized', 'forbidden'],
    summary: 'Add a passkey with the credential that the browser created',
  }),
  removePasskey: route('DELETE /auth/passkeys/:id', {
    permission: 'token:write',
    on: 'passkey',
    status: 204,
    summary: 'Remove a passkey; sessions that it opened stay',
  }),
  passkeyOptions: route('GET /auth/passkeys/sign-in-options', {
    public: true,
    returns: data(RequestOptions),
    summary: 'Options for `navigator.credentials.get`, valid for five minutes',
  }),
  signInWithPasskey: route('POST /auth/passkeys/sign-in', {
    public: true,
    rateLimit: 'login',
    body: Type.Object({ credential: AssertionResponse }),
    returns: data(Session),
    errors: ['unauthorized', 'forbidden', 'conflict', 'rate_limited'],
    summary: 'Sign in with a passkey; sets the session cookie. It needs no password and no second factor',
  }),
}
