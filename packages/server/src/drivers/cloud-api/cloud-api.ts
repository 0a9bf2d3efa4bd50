import type { Readable } from 'node:stream'

/** Another Berth instance, with an API token created there. */
export interface CloudAddress {
  /** URL without a trailing slash. */
  url: string
  token: string
  /** The URL may lead to this machine or its private networks. */
  mayBeInside: boolean
}

export interface CloudRequest {
  method: string
  /** Path and query below the URL: `/api/projects?limit=5`. */
  path: string
  headers?: Record<string, string | string[]>
  body?: Readable | string
  /** The response is a stream that may last for hours: it uses no pooled connection. */
  isStream?: boolean
  abort?: AbortSignal
}

export interface CloudResponse {
  status: number
  headers: Record<string, string | string[]>
  /** Unread body; a caller who does not need it must destroy it. */
  body: Readable
}

/**
 * Sends requests to a cloud. Bodies are streamed in both directions. Rejects with `CloudUnreachable` when no response of this
 * product arrives in time; time spent waiting for the caller's own body does not count. Redirects are not followed.
 */
export interface CloudApi {
  send(address: CloudAddress, request: CloudRequest): Promise<CloudResponse>
  close(): void
}

export class CloudUnreachable extends Error {
  override readonly name = 'CloudUnreachable'
}
