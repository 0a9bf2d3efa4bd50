import { Secret } from '../../platform/secrets/secret.ts'
import { withinLimits } from './deadline.ts'
import type { AccountTokens, CallLimits, DeviceLogin, DevicePoll, SignIn } from './git-host.ts'
import { GitHostError } from './git-host-error.ts'
import type { HostFetch } from './host-fetch.ts'
import { Fields } from './payload.ts'

/** Settings of OAuth 2 (RFC 6749, and RFC 8628 for devices) that differ between hosts. */
export interface OAuthSettings {
  title: string
  clientId: string | null
  clientSecret: Secret | null
  authorizeUrl: string
  tokenUrl: string
  /** Null: the host has no device login. */
  deviceUrl: string | null
  scope: string
  /** Parameters of the authorization request that only this host needs. */
  authorizeExtra?: Record<string, string>
}

/** A code is exchanged with the client secret; a device login needs none, and serves instances without one. */
export function createSignIn(settings: OAuthSettings, send: HostFetch): SignIn {
  const { clientId, clientSecret, deviceUrl, title, scope } = settings
  const post = (url: string, form: Record<string, string>, limits: CallLimits = {}) =>
    withinLimits(title, limits, (signal) => postForm(url, form, { send, title, signal }))
  const secret = (): Record<string, string> => (clientSecret ? { client_secret: clientSecret.reveal() } : {})
  return {
    code:
      clientId && clientSecret
        ? {
            url: (state, redirectUri) => authorizeUrl(settings, clientId, state, redirectUri),
            exchange: async (code, redirectUri, limits) => {
              const form = { grant_type: 'authorization_code', client_id: clientId, ...secret(), code, redirect_uri: redirectUri }
              return parseTokens(await post(settings.tokenUrl, form, limits), title)
            },
          }
        : null,
    device:
      clientId && deviceUrl
        ? {
            start: async (limits) => parseDeviceLogin(await post(deviceUrl, { client_id: clientId, scope }, limits), title),
            poll: async (deviceCode, limits) => {
              const grant_type = 'urn:ietf:params:oauth:grant-type:device_code'
              const form = { client_id: clientId, device_code: deviceCode.reveal(), grant_type }
              return parsePoll(await post(settings.tokenUrl, form, limits), title)
            },
          }
        : null,
    refresh: async (refreshToken, limits) => {
      const form = { grant_type: 'refresh_token', client_id: clientId ?? '', ...secret(), refresh_token: refreshToken.reveal() }
      return parseTokens(await post(settings.tokenUrl, form, limits), title)
    },
  }
}

function authorizeUrl(
  { authorizeUrl, scope, authorizeExtra }: OAuthSettings,
  clientId: string,
  state: string,
  redirectUri: string,
) {
  const url = new URL(authorizeUrl)
  const parameters = { client_id: clientId, redirect_uri: redirectUri, state, response_type: 'code', ...authorizeExtra }
  for (const [name, value] of Object.entries({ ...parameters, ...(scope ? { scope } : {}) })) url.searchParams.set(name, value)
  return url.href
}

async function postForm(
  url: string,
  form: Record<string, string>,
  { send, title, signal }: { send: HostFetch; title: string; signal: AbortSignal },
): Promise<Fields> {
  const response = await send(url, {
    method: 'POST',
    headers: { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(form).toString(),
    signal,
  })
  const fields = Fields.of(Buffer.from(await response.arrayBuffer()))
  // Hosts return `error` in a 200 response as well as in a 400 or 401.
  if (fields && (response.ok || fields.has('error'))) return fields
  if (response.status >= 500)
    throw new GitHostError('unreachable', `${title} answers ${response.status}`, { status: response.status })
  throw new GitHostError('invalidResponse', `${title} answers a login with ${response.status} and no JSON`, {
    status: response.status,
  })
}

function parseTokens(fields: Fields, title: string): AccountTokens {
  const error = fields.text('error')
  if (error) throw new GitHostError('unauthorized', `${title} rejected the login: ${errorText(fields, error)}`)
  const accessToken = fields.text('access_token')
  if (!isToken(accessToken)) throw new GitHostError('invalidResponse', `${title} returned a login without a token`)
  const refreshToken = fields.text('refresh_token')
  const seconds = fields.integer('expires_in')
  return {
    accessToken: new Secret(accessToken),
    refreshToken: isToken(refreshToken) ? new Secret(refreshToken) : null,
    lifetimeSeconds: seconds && seconds > 0 ? seconds : null,
  }
}

/** A line break in a token would inject a line into git's credential helper, and a header into a request. */
const isToken = (text: string | null): text is string => text !== null && /^[\x21-\x7e]{1,4000}$/.test(text)

const errorText = (fields: Fields, error: string): string => (fields.text('error_description') ?? error).slice(0, 300)

function parseDeviceLogin(fields: Fields, title: string): DeviceLogin {
  const error = fields.text('error')
  if (error) throw new GitHostError('refused', `${title} rejected the device login: ${errorText(fields, error)}`)
  const [deviceCode, userCode, verificationUri] = ['device_code', 'user_code', 'verification_uri'].map((name) =>
    fields.text(name),
  )
  const isPage = /^https?:$/.test(URL.parse(verificationUri ?? '')?.protocol ?? '')
  if (!isToken(deviceCode ?? null) || !userCode || !isPage)
    throw new GitHostError('invalidResponse', `${title} returned an invalid device login`)
  return {
    deviceCode: new Secret(deviceCode!),
    userCode: userCode.slice(0, 50),
    verificationUri: verificationUri!,
    intervalSeconds: Math.min(Math.max(fields.integer('interval') ?? 5, 1), 60),
    expiresAt: new Date(Date.now() + Math.min(Math.max(fields.integer('expires_in') ?? 900, 60), 1800) * 1000),
  }
}

function parsePoll(fields: Fields, title: string): DevicePoll {
  const error = fields.text('error')
  if (error === 'authorization_pending') return { status: 'pending', intervalSeconds: null }
  if (error === 'slow_down') return { status: 'pending', intervalSeconds: Math.min(fields.integer('interval') ?? 10, 60) }
  if (error === 'access_denied') return { status: 'denied' }
  if (error === 'expired_token') return { status: 'expired' }
  if (error) return { status: 'error', message: errorText(fields, error) }
  return { status: 'connected', tokens: parseTokens(fields, title) }
}
