import { errorMessage } from '../../platform/error-message.ts'
import type { Secret } from '../../platform/secrets/secret.ts'
import { DnsProviderFailed } from './dns-challenge.ts'

export interface ProviderSettings {
  /** Base URL of the API; null: the provider's public one. */
  apiUrl: string | null
  token: Secret
}

export interface ProviderResponse {
  status: number
  text: string
}

export interface ProviderRequest {
  method?: 'GET' | 'POST' | 'DELETE'
  headers: Record<string, string>
  body?: string
}

const callTimeoutMs = 30_000
const maxResponseBytes = 4_194_304

/** Makes one HTTP call to a provider; every status is returned. Redirects are refused, because they would receive the credential. */
export async function callProvider(
  provider: string,
  url: string,
  { method = 'GET', headers, body }: ProviderRequest,
  abort: AbortSignal,
): Promise<ProviderResponse> {
  try {
    const signal = AbortSignal.any([abort, AbortSignal.timeout(callTimeoutMs)])
    const response = await fetch(url, { method, headers, redirect: 'error', signal, ...(body === undefined ? {} : { body }) })
    return { status: response.status, text: await readBounded(response) }
  } catch (error) {
    abort.throwIfAborted()
    if (error instanceof DnsProviderFailed) throw error
    const { cause } = error as { cause?: unknown }
    throw new DnsProviderFailed(`${provider} cannot be reached: ${errorMessage(cause ?? error)}`, { cause: error })
  }
}

async function readBounded(response: Response): Promise<string> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of response.body ?? []) {
    bytes += part.length
    if (bytes > maxResponseBytes) throw new DnsProviderFailed(`The answer of ${new URL(response.url).host} is larger than 4 MB`)
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

/** A provider with a JSON API and a bearer token. */
export class JsonProvider {
  readonly #provider: string
  readonly #apiUrl: string
  readonly #token: Secret

  constructor(provider: string, publicUrl: string, { apiUrl, token }: ProviderSettings) {
    this.#provider = provider
    this.#apiUrl = apiUrl ?? publicUrl
    this.#token = token
  }

  /** The parsed body. A status in `expected` is returned as null instead of failing. */
  async call<Body>(
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    abort: AbortSignal,
    { body, expected = [] }: { body?: object; expected?: readonly number[] } = {},
  ): Promise<Body | null> {
    const headers = {
      authorization: `Bearer ${this.#token.reveal()}`,
      accept: 'application/json',
      ...(body ? { 'content-type': 'application/json' } : {}),
    }
    const request = { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) }
    const { status, text } = await callProvider(this.#provider, this.#apiUrl + path, request, abort)
    if (expected.includes(status)) return null
    if (status < 200 || status > 299) throw new DnsProviderFailed(`${this.#provider} answered ${status}: ${errorReason(text)}`)
    try {
      return text === '' ? ({} as Body) : (JSON.parse(text) as Body)
    } catch (error) {
      throw new DnsProviderFailed(`${this.#provider} answered with invalid JSON`, { cause: error })
    }
  }
}

/** The message in an error body: providers put it in `message`, `error.message` or `errors[].message`. */
function errorReason(text: string): string {
  try {
    const body = JSON.parse(text) as Partial<Record<'message' | 'error' | 'errors', unknown>>
    const found = [body.message, (body.error as { message?: unknown })?.message, firstMessage(body.errors)]
    const message = found.find((one) => typeof one === 'string')
    if (message) return String(message).slice(0, 300)
  } catch {
    // The body is not JSON: it is shown as it is.
  }
  return text.trim().slice(0, 300) || 'no reason given'
}

const firstMessage = (errors: unknown): unknown =>
  Array.isArray(errors) ? (errors[0] as { message?: unknown })?.message : undefined

/** `_acme-challenge.apps.example.com` → that name, then each parent down to two labels: the zone is the longest that exists. */
export function zoneCandidates(name: string): string[] {
  const labels = name.split('.')
  return labels.slice(0, -1).map((_, at) => labels.slice(at).join('.'))
}

/** The name relative to its zone; the zone itself is `@`. */
export const relativeName = (name: string, zone: string): string => (name === zone ? '@' : name.slice(0, -zone.length - 1))

export const noZone = (provider: string, name: string) =>
  new DnsProviderFailed(`${provider} has no zone for ${name}, or the token has no access to it`)
