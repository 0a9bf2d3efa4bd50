import http from 'node:http'
import https from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { getCACertificates } from 'node:tls'
import { type AddressReach, reachOf } from './address-reach.ts'
import { exchangeFailed, lookupFailed, timedOut, WebRequestFailed, WebRequestRefused } from './failures.ts'
import { publicNames, type Resolve, systemNames } from './resolve.ts'

export interface OutgoingRequest {
  url: string
  method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  headers?: Record<string, string>
  body?: string | Uint8Array
  /** Limit for the whole request: name lookup, connect, TLS, sending and reading. */
  timeoutMs?: number
  maxResponseBytes?: number
  abort?: AbortSignal
}

export interface WebResponse {
  status: number
  /** A redirect is reported and never followed. */
  outcome: 'ok' | 'redirected' | 'refused' | 'broken'
  headers: Record<string, string>
  body: string
  /** The body was longer than the limit, timed out, or was cut off. The status is still valid. */
  truncated: boolean
}

export interface WebRequest {
  /**
   * Resolves the name once and connects only to the addresses that were checked. Rejects with WebRequestRefused before anything is
   * sent, with WebRequestFailed when no status arrived, and with the abort reason when the caller aborted.
   */
  send(request: OutgoingRequest): Promise<WebResponse>
}

export interface WebRequestOptions {
  /** Setting of the instance: allows receivers on this machine and in private networks. */
  allowPrivate: boolean
  resolve?: Resolve
  classify?: (address: string) => AddressReach
  /** PEM certificates trusted in addition to the system's. */
  ca?: string
}

export function createWebRequest(options: WebRequestOptions): WebRequest {
  const { allowPrivate, classify = reachOf } = options
  const resolve = options.resolve ?? (allowPrivate ? systemNames : publicNames())
  const ca = options.ca ? [...getCACertificates(), options.ca] : undefined
  const mayReach = (address: string) => {
    const reach = classify(address)
    return reach === 'public' || (allowPrivate && reach === 'inside')
  }

  return {
    async send(request) {
      request.abort?.throwIfAborted()
      const url = checkedUrl(request.url)
      const limit = startLimit(request.timeoutMs ?? 10_000, request.abort)
      try {
        const addresses = await acceptableAddresses(url, resolve, mayReach, limit.signal)
        return await exchange(request, url, { addresses, ca, signal: limit.signal })
      } catch (failure) {
        request.abort?.throwIfAborted()
        if (limit.signal.aborted) throw timedOut(url.hostname, limit.timeoutMs)
        throw failure
      } finally {
        limit.end()
      }
    },
  }
}

export function checkedUrl(text: string): URL {
  const url = URL.parse(text)
  if (!url) throw new WebRequestRefused('invalid_url', 'This is not a complete URL')
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new WebRequestRefused('scheme', 'A URL must start with http:// or https://')
  }
  if (url.username || url.password) {
    throw new WebRequestRefused('credentials', 'A user name or password in the URL is not allowed')
  }
  return url
}

/** A timeout combined with the caller's abort; unlike AbortSignal.any it leaves no listener on a long-lived signal. */
export function startLimit(timeoutMs: number, abort: AbortSignal | undefined) {
  const limit = new AbortController()
  const stop = () => limit.abort()
  const timer = setTimeout(stop, timeoutMs)
  abort?.addEventListener('abort', stop, { once: true })
  return {
    timeoutMs,
    signal: limit.signal,
    end() {
      clearTimeout(timer)
      abort?.removeEventListener('abort', stop)
    },
  }
}

/**
 * The allowed addresses of a host. Rejecting the whole name for one bad address would not be safer, since only allowed ones are
 * used, and would exclude hosts that also publish a private or translated address.
 */
export async function acceptableAddresses(
  url: URL,
  resolve: Resolve,
  mayReach: (address: string) => boolean,
  signal: AbortSignal,
) {
  const name = bareHost(url)
  const literal = isIP(name) !== 0
  const found = literal ? [name] : isLocalhost(name) ? ['127.0.0.1', '::1'] : await lookUp(name, resolve, signal)
  const acceptable = found.filter((address) => isIP(address) !== 0 && mayReach(address))
  if (acceptable.length > 0) return acceptable
  throw new WebRequestRefused(
    'address',
    `${url.hostname} is inside a private or reserved network, where this instance does not send`,
    literal,
  )
}

const bareHost = (url: URL) => url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
const isLocalhost = (name: string) => name === 'localhost' || name.endsWith('.localhost')

async function lookUp(name: string, resolve: Resolve, signal: AbortSignal): Promise<readonly string[]> {
  const { promise: stopped, reject } = Promise.withResolvers<never>()
  const stop = () => reject(signal.reason)
  signal.addEventListener('abort', stop, { once: true })
  try {
    const addresses = await Promise.race([resolve(name, signal), stopped])
    if (addresses.length > 0) return addresses
  } catch (cause) {
    throw lookupFailed(name, cause)
  } finally {
    signal.removeEventListener('abort', stop)
  }
  throw new WebRequestFailed('name_not_found', `No address was found for the host name ${name}`)
}

interface PinnedConnection {
  addresses: readonly string[]
  ca: string[] | undefined
  signal: AbortSignal
}

async function exchange(request: OutgoingRequest, url: URL, pinned: PinnedConnection): Promise<WebResponse> {
  const outgoing = open(request, url, pinned)
  try {
    const response = await responseTo(outgoing, request.body)
    const { body, truncated } = await readBounded(response, request.maxResponseBytes ?? 64 * 1024)
    request.abort?.throwIfAborted()
    const status = response.statusCode ?? 0
    return { status, outcome: outcomeOf(status), headers: flatHeaders(response.headers), body, truncated }
  } catch (cause) {
    throw exchangeFailed(url.hostname, cause)
  } finally {
    outgoing.destroy()
  }
}

/** Opens a request with its own agent: no pooled connection outlives its address check, and no proxy is used. */
export function open(request: OutgoingRequest, url: URL, { addresses, ca, signal }: PinnedConnection): http.ClientRequest {
  const scheme = url.protocol === 'https:' ? https : http
  const agentOptions = {
    keepAlive: false,
    lookup: pinnedLookup(addresses),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: 2_000,
  }
  return scheme.request({
    agent: new scheme.Agent(agentOptions),
    hostname: bareHost(url),
    port: url.port || null,
    path: url.pathname + url.search,
    method: request.method,
    headers: { 'user-agent': 'Berth', ...request.headers },
    signal,
    rejectUnauthorized: true,
    ...(ca ? { ca } : {}),
  })
}

export function responseTo(outgoing: http.ClientRequest, body: OutgoingRequest['body']): Promise<http.IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>()
  // Stays attached: a connection that breaks while the body is read reports here too.
  outgoing.on('error', reject)
  outgoing.once('response', resolve)
  outgoing.once('close', () => reject(Object.assign(new Error('closed'), { code: 'ECONNRESET' })))
  outgoing.end(body)
  return promise
}

const pinnedLookup =
  (addresses: readonly string[]): LookupFunction =>
  (_name, _options, callback) =>
    callback(
      null,
      addresses.map((address) => ({ address, family: isIP(address) })),
    )

function outcomeOf(status: number): WebResponse['outcome'] {
  if (status < 300) return 'ok'
  if (status < 400) return 'redirected'
  return status < 500 ? 'refused' : 'broken'
}

async function readBounded(stream: AsyncIterable<Uint8Array>, maxBytes: number) {
  const chunks: Uint8Array[] = []
  let remainingBytes = maxBytes
  let truncated = false
  try {
    for await (const chunk of stream) {
      chunks.push(chunk.subarray(0, remainingBytes))
      truncated = chunk.length > remainingBytes
      remainingBytes -= Math.min(remainingBytes, chunk.length)
      if (truncated) break
    }
  } catch {
    // Cut off or timed out: keep the part that was read.
    truncated = true
  }
  return { body: new TextDecoder().decode(Buffer.concat(chunks)), truncated }
}

function flatHeaders(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value ?? ''].flat().join(', ')]))
}
