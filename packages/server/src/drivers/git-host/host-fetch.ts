import { GitHostError } from './git-host-error.ts'

/** Name of a host in messages, and the URLs that its tokens may be sent to. */
export interface HostAddresses {
  /** Name such as `GitHub at github.com`. */
  title: string
  bases: readonly string[]
}

export type HostFetch = (url: string | URL, init?: RequestInit) => Promise<Response>

const maxResponseBytes = 24 * 1024 * 1024
const maxRedirects = 3

/**
 * `fetch` for one host: a request to any other URL is rejected, also when the URL is from a response of the host. A redirect, as
 * for a renamed repository, is followed only within the host, with the same method and body. The response is read completely
 * with a size limit, so that the time limit covers all of it.
 */
export function createHostFetch({ title, bases }: HostAddresses): HostFetch {
  const isAllowed = (url: URL) => bases.some((base) => isBelow(url, new URL(base)))
  return async (address, init = {}) => {
    let url = new URL(address)
    for (let hops = 0; hops <= maxRedirects; hops += 1) {
      if (!isAllowed(url))
        throw new GitHostError('invalidResponse', `${title} redirects to another host, which does not receive the credentials`)
      const response = await fetch(url, { ...init, redirect: 'manual' }).catch((cause: unknown) => {
        throw unreachable(title, cause, init.signal ?? null)
      })
      const location = response.headers.get('location')
      const isRedirect = response.status >= 300 && response.status < 400 && response.status !== 304 && location
      if (!isRedirect) return readCompletely(response, title, init.signal ?? null)
      await response.body?.cancel()
      // 303 requests a GET of another URL: the write itself has succeeded.
      if (response.status === 303 && (init.method ?? 'GET') !== 'GET')
        throw new GitHostError('invalidResponse', `${title} redirected a write request`)
      url = URL.parse(location, url) ?? url
    }
    throw new GitHostError('invalidResponse', `${title} redirects too often`)
  }
}

const isBelow = (url: URL, base: URL): boolean =>
  url.origin === base.origin && (url.pathname === base.pathname || url.pathname.startsWith(base.pathname.replace(/\/?$/, '/')))

async function readCompletely(response: Response, title: string, signal: AbortSignal | null): Promise<Response> {
  const { status, statusText, headers } = response
  if (status === 204 || status === 205 || status === 304) return new Response(null, { status, statusText, headers })
  const chunks: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const chunk of response.body ?? []) {
      bytes += chunk.length
      if (bytes > maxResponseBytes)
        throw new GitHostError('invalidResponse', `${title} returned more than ${maxResponseBytes / 1024 / 1024} MB`)
      chunks.push(chunk)
    }
  } catch (cause) {
    throw unreachable(title, cause, signal)
  }
  const plainHeaders = new Headers(headers)
  // The body is already decompressed.
  plainHeaders.delete('content-encoding')
  plainHeaders.delete('content-length')
  return new Response(Buffer.concat(chunks), { status, statusText, headers: plainHeaders })
}

function unreachable(title: string, cause: unknown, signal: AbortSignal | null): unknown {
  if (cause instanceof GitHostError || signal?.aborted) return cause
  const code = codeOf(cause)
  const message =
    code === 'ECONNREFUSED'
      ? 'refuses the connection'
      : code === 'ENOTFOUND' || code === 'EAI_AGAIN'
        ? 'has a host name that cannot be resolved'
        : /CERT|TLS|SSL|SIGNED/.test(code)
          ? `has an untrusted TLS certificate (${code})`
          : 'cannot be reached'
  return new GitHostError('unreachable', `${title} ${message}`)
}

function codeOf(cause: unknown): string {
  const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause
  return inner instanceof Error && 'code' in inner && typeof inner.code === 'string' ? inner.code : ''
}
