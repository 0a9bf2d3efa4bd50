import type { Client } from 'acme-client'
import { errorMessage } from '../../platform/error-message.ts'
import { Secret } from '../../platform/secrets/secret.ts'
import { DnsProviderFailed } from '../dns-challenge/dns-challenge.ts'
import { type Acme, type ChallengeBoard, type IssuedCertificate, OrderRefused } from './acme.ts'

interface AcmeSettings {
  directoryUrl: string
  email: string | null
}

/** Any directory that speaks RFC 8555. The library is loaded when the first certificate is wanted. */
export function createAcme(settings: AcmeSettings): Acme {
  return {
    async newAccountKey() {
      const { crypto } = await import('acme-client')
      return new Secret((await crypto.createPrivateEcdsaKey()).toString())
    },
    async order(hostname, accountKey, board, abort) {
      await checkReachable(settings.directoryUrl, abort)
      const ordered = placeOrder(hostname, accountKey, board, settings)
      // The library does not support aborts: its remaining work continues unobserved.
      ordered.catch(() => undefined)
      return await Promise.race([ordered, rejectOnAbort(abort)])
    },
  }
}

async function placeOrder(
  hostname: string,
  accountKey: Secret,
  board: ChallengeBoard,
  { directoryUrl, email }: AcmeSettings,
): Promise<IssuedCertificate> {
  const { Client, crypto, axios } = await import('acme-client')
  rejectRateLimitedCalls(axios)
  const client: Client = new Client({ directoryUrl, accountKey: accountKey.reveal(), ...pollOptions })
  const [key, csr] = await crypto.createCsr({ altNames: [hostname] }, await crypto.createPrivateEcdsaKey())
  // Looks the account up by its key; if it does not exist (any more), the order registers it.
  await client.createAccount({ onlyReturnExisting: true }).catch(() => undefined)
  try {
    const certificate = await client.auto({
      csr,
      ...(email ? { email } : {}),
      termsOfServiceAgreed: true,
      challengePriority: [board.type],
      skipChallengeVerification: true,
      challengeCreateFn: (_authorization, challenge, response) => {
        if (challenge.type !== board.type) throw new Error(`the authority offers no ${board.type} challenge`)
        return board.show(challenge.token, response)
      },
      challengeRemoveFn: (_authorization, { token }, response) => board.hide(token, response),
    })
    const { notAfter } = crypto.readCertificateInfo(certificate)
    return { certificate, privateKey: new Secret(key.toString()), expiresAt: notAfter, accountUrl: client.getAccountUrl() }
  } catch (error) {
    // The library throws a TypeError when a response is missing; every other message is the authority's own.
    if (error instanceof OrderRefused || error instanceof DnsProviderFailed) throw error
    if (error instanceof TypeError) throw new Error('the certificate authority closed the connection', { cause: error })
    throw new OrderRefused(shortMessage(error), { cause: error })
  }
}

type Axios = typeof import('acme-client')['axios']

const minRetryMs = 60_000
const maxRetryMs = 8 * 86_400_000
let isInstalled = false

/**
 * Installs a response handler in the library that rejects a rate-limited call with `OrderRefused` and the time of its
 * Retry-After. The library itself would sleep until that time, which may be days away, and repeat the call.
 */
function rejectRateLimitedCalls(axios: Axios): void {
  if (isInstalled) return
  isInstalled = true
  const { transformResponse } = axios.defaults
  const transforms = transformResponse === undefined ? [] : [transformResponse].flat()
  axios.defaults.transformResponse = [
    ...transforms,
    (data: unknown, headers: { get(name: string): unknown }, status?: number) => {
      const retryAfter = headers.get('retry-after')
      const isLimited = status === 429 || (status === 503 && typeof retryAfter === 'string')
      if (!isLimited) return data
      const problem = (typeof data === 'string' ? parseJson(data) : data) as { detail?: string } | null
      const message = problem?.detail ?? `the certificate authority answered ${status}`
      throw new OrderRefused(message.slice(0, 500), { retryAt: retryTime(retryAfter) })
    },
  ]
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** Parses Retry-After, in seconds or as a date. Between one minute and eight days; one hour if it is missing or invalid. */
function retryTime(header: unknown): Date {
  const text = String(header ?? '')
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - Date.now()
  const waitMs = Number.isFinite(ms) ? Math.min(Math.max(ms, minRetryMs), maxRetryMs) : 3_600_000
  return new Date(Date.now() + waitMs)
}

/** Polls the result after 1 s, 2 s, 4 s and so on, for a minute and a half in total. */
const pollOptions = { backoffAttempts: 8, backoffMin: 1_000, backoffMax: 30_000 }
const reachTimeoutMs = 20_000

/** Checks that the directory is reachable. The library would retry for over a minute and then hide the network error. */
async function checkReachable(directoryUrl: string, abort: AbortSignal): Promise<void> {
  try {
    const answer = await fetch(directoryUrl, { signal: AbortSignal.any([abort, AbortSignal.timeout(reachTimeoutMs)]) })
    await answer.body?.cancel()
    if (!answer.ok) throw new Error(`the server answered ${answer.status}`)
  } catch (error) {
    abort.throwIfAborted()
    throw new Error(`the certificate authority at ${new URL(directoryUrl).host} cannot be reached: ${networkMessage(error)}`, {
      cause: error,
    })
  }
}

function networkMessage(error: unknown): string {
  const { cause } = error as { cause?: unknown }
  const { code, message } = (cause ?? error) as NodeJS.ErrnoException
  return message || code || String(error)
}

const rejectOnAbort = (abort: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    if (abort.aborted) reject(abort.reason)
    abort.addEventListener('abort', () => reject(abort.reason), { once: true })
  })

const shortMessage = (error: unknown) => errorMessage(error).slice(0, 500)
