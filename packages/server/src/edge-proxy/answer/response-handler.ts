import type net from 'node:net'
import type { ClientAddress } from '../limits/client-address.ts'
import type { RequestHead } from '../message/request-head.ts'
import type { Notice } from './pages.ts'
import type { Serving } from './serving.ts'

/** Produces the response of one request: from an upstream, from files, or as a tunnel. */
export interface ResponseHandler {
  start(): void
  bodyData(bytes: Buffer): void
  bodyEnd(): void
  clientDrained(): void
  clientEnded(): void
  clientDisconnected(): void
  /** The time limit in `exchange.deadline` has passed. */
  timedOut(): void
}

/** The client connection, as a request and its response use it. */
export interface ExchangeClient {
  readonly socket: net.Socket
  readonly serving: Serving
  readonly isSecure: boolean
  readonly peer: ClientAddress
  readonly isRequestComplete: boolean
  /** Stops or resumes reading the request's body. */
  block(blocked: boolean): void
  /** Switches the connection to passing bytes through; returns the bytes received early. */
  enterTunnel(): Buffer | undefined
  finished(keepAlive: boolean): void
  abort(): void
}

/** A request in progress, as its handler uses it. */
export interface RequestExchange {
  readonly client: ExchangeClient
  readonly head: RequestHead
  readonly serving: Serving
  readonly requestId: string
  readonly protocol: string
  readonly isFromTrustedProxy: boolean
  readonly hasEnded: boolean
  /** Header lines that the edge adds to the forwarded request. */
  readonly ownHeaders: string
  status: number
  bytesOut: number
  deadline: number
  /** Routes the request again, by the current table. */
  proceed(): void
  bodyData(bytes: Buffer): void
  delegate(handler: ResponseHandler): void
  headText(statusLine: string, headerLines: string, length: number | 'omitted'): string
  answer(status: number, headerLines: string, body: string | Buffer, failed?: boolean): void
  beginAnswer(status: number, headerLines: string, length: number | 'omitted'): void
  refuse(notice: Notice, failed?: boolean): void
  finish(failed?: boolean): void
  abort(failed: boolean): void
}
