import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { type AddressReach, reachOf } from './address-reach.ts'
import { exchangeFailed, timedOut, WebRequestFailed } from './failures.ts'
import { publicNames, type Resolve } from './resolve.ts'
import { acceptableAddresses, checkedUrl, open, responseTo, startLimit } from './web-request.ts'

export interface DownloadOptions {
  maxBytes: number
  timeoutMs: number
  abort: AbortSignal
}

/** Downloads a public URL to a new file and returns its sha256. Each redirect is checked like the first URL. */
export type Download = (url: string, file: string, options: DownloadOptions) => Promise<{ sha256: string }>

const maxRedirects = 10

export function createDownload({
  resolve = publicNames(),
  classify = reachOf,
}: {
  resolve?: Resolve
  classify?: (address: string) => AddressReach
} = {}): Download {
  const mayReach = (address: string) => classify(address) === 'public'
  return async (address, file, { maxBytes, timeoutMs, abort }) => {
    const limit = startLimit(timeoutMs, abort)
    let url = checkedUrl(address)
    try {
      for (let hops = 0; hops <= maxRedirects; hops += 1) {
        const addresses = await acceptableAddresses(url, resolve, mayReach, limit.signal)
        const result = await fetchToFile(url, { addresses, ca: undefined, signal: limit.signal }, file, maxBytes)
        if ('sha256' in result) return result
        url = checkedUrl(new URL(result.location, url).href)
      }
      throw new WebRequestFailed('bad_answer', `${url.hostname} redirects too often`)
    } catch (failure) {
      abort.throwIfAborted()
      if (limit.signal.aborted) throw timedOut(url.hostname, timeoutMs)
      throw failure
    } finally {
      limit.end()
    }
  }
}

async function fetchToFile(
  url: URL,
  pinned: Parameters<typeof open>[2],
  file: string,
  maxBytes: number,
): Promise<{ sha256: string } | { location: string }> {
  const outgoing = open({ url: url.href, method: 'GET' }, url, pinned)
  try {
    const response = await responseTo(outgoing, undefined)
    const { statusCode = 0, headers } = response
    if (statusCode >= 300 && statusCode < 400 && headers.location) return { location: headers.location }
    if (statusCode !== 200) throw new WebRequestFailed('bad_answer', `${url.hostname} answered ${statusCode}`)
    const hash = createHash('sha256')
    let remainingBytes = maxBytes
    await pipeline(
      response,
      async function* (chunks: AsyncIterable<Uint8Array>) {
        for await (const chunk of chunks) {
          remainingBytes -= chunk.length
          if (remainingBytes < 0) throw new WebRequestFailed('bad_answer', `${url.hostname} sends more than ${maxBytes} bytes`)
          hash.update(chunk)
          yield chunk
        }
      },
      createWriteStream(file, { mode: 0o600, flags: 'wx' }),
    )
    return { sha256: hash.digest('hex') }
  } catch (cause) {
    throw cause instanceof WebRequestFailed ? cause : exchangeFailed(url.hostname, cause)
  } finally {
    outgoing.destroy()
  }
}
