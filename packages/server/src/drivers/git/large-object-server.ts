import type { IncomingMessage } from 'node:http'
import { systemNames } from '../web-request/resolve.ts'
import { open, responseTo } from '../web-request/web-request.ts'
import { remainingMs, type Tree } from './checkout-settings.ts'
import { GitAuthFailed, GitError, GitUnreachable, RemoteRefused } from './git-errors.ts'

export interface LargeObject {
  /** SHA-256, in hex. */
  oid: string
  size: number
}

const maxResponseLength = 5_000_000
const maxRedirects = 3
const mediaType = 'application/vnd.git-lfs+json'

/** The batch call of Git LFS: returns the URL of each object. */
export async function requestObjects(tree: Tree, objects: readonly LargeObject[]) {
  const url = `${tree.url.replace(/\/+$/, '').replace(/(\.git)?$/, '.git')}/info/lfs/objects/batch`
  const abort = AbortSignal.any([
    AbortSignal.timeout(Math.min(60_000, remainingMs(tree))),
    ...(tree.options.abort ? [tree.options.abort] : []),
  ])
  const body = JSON.stringify({ operation: 'download', transfers: ['basic'], objects, hash_algo: 'sha256' })
  const headers = { accept: mediaType, 'content-type': mediaType, ...authorization(tree, url) }
  const { response, end } = await send(tree, { url, method: 'POST', headers, body }, abort)
  try {
    if (response.statusCode === 401 || response.statusCode === 403 || response.statusCode === 404)
      throw new GitAuthFailed(
        `${hostOf(url)} rejected access to the Git LFS files (${response.statusCode}). Set a clone token with access to them.`,
      )
    if (response.statusCode !== 200)
      throw new GitError(`${hostOf(url)} answered ${response.statusCode} to a request for Git LFS files`)
    const chunks: Uint8Array[] = []
    let bytes = 0
    for await (const chunk of response as AsyncIterable<Uint8Array>) {
      bytes += chunk.length
      if (bytes > maxResponseLength) throw new GitError(`${hostOf(url)} returned too much data about Git LFS files`)
      chunks.push(chunk)
    }
    return parseLocations(Buffer.concat(chunks).toString('utf8'), objects, hostOf(url))
  } finally {
    end()
  }
}

function parseLocations(text: string, requested: readonly LargeObject[], host: string) {
  const invalidResponse = () => new GitError(`${host} returned an invalid response about Git LFS files`)
  let response: { objects?: unknown }
  try {
    response = JSON.parse(text)
  } catch {
    throw invalidResponse()
  }
  const objectsById = new Map((Array.isArray(response?.objects) ? response.objects : []).map((one) => [one?.oid as string, one]))
  return requested.map((object) => {
    const { href, header = {} } = objectsById.get(object.oid)?.actions?.download ?? {}
    if (typeof href !== 'string') throw new GitError(`${host} does not have the file ${object.oid.slice(0, 12)} of Git LFS`)
    const headers = Object.fromEntries(
      Object.entries(header ?? {}).filter(([, value]) => typeof value === 'string' && !/[\r\n\0]/.test(value)),
    )
    return { ...object, href, headers: headers as Record<string, string> }
  })
}

/** Downloads an object. The URL is untrusted: it is checked, and so is each redirect. */
export async function openObject(
  tree: Tree,
  { href, headers }: { href: string; headers: Record<string, string> },
  abort: AbortSignal,
): Promise<{ response: IncomingMessage; end(): void }> {
  let [url, requestHeaders] = [href, { ...authorization(tree, href), ...headers }]
  for (let hops = 0; hops <= maxRedirects; hops++) {
    const { response, end } = await send(tree, { url, method: 'GET', headers: requestHeaders }, abort)
    const { statusCode = 0, headers: responseHeaders } = response
    if (statusCode === 200) return { response, end }
    end()
    if (statusCode < 300 || statusCode >= 400 || !responseHeaders.location)
      throw new GitError(`${hostOf(url)} answered ${statusCode} for a file in Git LFS`)
    url = new URL(responseHeaders.location, url).href
    requestHeaders = {}
  }
  throw new GitError(`${hostOf(url)} redirects too often for a Git LFS file`)
}

/** The token is sent to the repository's own host only. */
function authorization({ remote, url }: Tree, to: string): Record<string, string> {
  const { credential } = remote
  if (!credential || URL.parse(to)?.origin !== new URL(url).origin) return {}
  const pair = `${credential.username ?? 'x-access-token'}:${credential.token.reveal()}`
  return { authorization: `Basic ${Buffer.from(pair).toString('base64')}` }
}

async function send(
  { git }: Tree,
  request: { url: string; method: 'GET' | 'POST'; headers: Record<string, string>; body?: string },
  signal: AbortSignal,
) {
  const url = URL.parse(request.url)
  if (!url) throw new RemoteRefused('is not a valid URL')
  // A query may carry the storage's own signature, which a git address never has.
  if (git.parse(`${url.protocol}//${url.host}${url.pathname}`).scheme === 'ssh') throw new RemoteRefused('is not a web URL')
  const host = url.hostname.replace(/^\[|\]$/g, '')
  try {
    const addresses = (await git.permitted(host, signal)) ?? (await lookUp(host, signal))
    const outgoing = open(request, url, { addresses, ca: undefined, signal })
    return { response: await responseTo(outgoing, request.body), end: () => void outgoing.destroy() }
  } catch (error) {
    if (error instanceof GitError) throw error
    signal.throwIfAborted()
    throw new GitUnreachable(`${url.host} cannot be reached for files in Git LFS`, (error as Error).message)
  }
}

const lookUp = async (host: string, signal: AbortSignal): Promise<readonly string[]> =>
  host === 'localhost' || host.endsWith('.localhost')
    ? ['127.0.0.1', '::1']
    : /^[\d.]+$|:/.test(host)
      ? [host]
      : systemNames(host, signal)

const hostOf = (url: string): string => URL.parse(url)?.host ?? 'The host'
