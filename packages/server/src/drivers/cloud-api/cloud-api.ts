import type { Readable } from 'node:stream'

/** Another instance of this product, asked with a token that was made there. */
export interface CloudAddress {
  /** Without a slash at the end. */
  url: string
  token: string
  /** It may lie on this machine or in its private networks. */
  mayBeInside: boolean
}

export interface CloudRequest {
  method: string
  /** Below the address, with the query: `/api/projects?limit=5`. */
  path: string
  headers?: Record<string, string | string[]>
  body?: Readable | string
  /** The answer may go on for hours: it takes no place among the connections that are kept. */
  isStream?: boolean
  abort?: AbortSignal
}

export interface CloudAnswer {
  status: number
  headers: Record<string, string | string[]>
  /** Not read yet; whoever does not want it destroys it. */
  body: Readable
}

/**
 * Bodies pass in both directions as they come and are never held. Rejects with `CloudUnreachable` when no answer of this
 * product came in time: the time counts while the cloud is waited for, not while the caller's own body is. Redirects are not followed.
 */
export interface CloudApi {
  send(address: CloudAddress, request: CloudRequest): Promise<CloudAnswer>
  close(): void
}

export class CloudUnreachable extends Error {
  override readonly name = 'CloudUnreachable'
}
