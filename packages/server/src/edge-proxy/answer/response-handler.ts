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
  clientGone(): void
  /** The time limit in `exchange.deadline` has passed. */
  timedOut(): void
}

/** What a request and its response need of the connection that they are on. */
export interface ExchangeClient {
  readonly socket: net.Socket
  readonly serving: Serving
  readonly secure: boolean
  readonly peer: ClientAddress
  readonly requestComplete: boolean
  /** Stops and starts reading the request's body. */
  block(blocked: boolean): void
  /** From now on bytes pass as they are; gives those that came early. */
  enterTunnel(): Buffer | undefined
  finished(keepAlive: boolean): void
  abort(): void
}

/** One request under way, as its handler sees it. */
export interface RequestExchange {
  readonly client: ExchangeClient
  readonly head: RequestHead
  readonly serving: Serving
  readonly requestId: string
  readonly protocol: string
  readonly fromTrustedProxy: boolean
  readonly ended: boolean
  /** Lines that the edge itself adds to what goes on. */
  readonly ownHeaders: string
  status: number
  bytesOut: number
  deadline: number
  /** Routes the request again, by the table that is in force now. */
  proceed(): void
  bodyData(bytes: Buffer): void
  delegate(handler: ResponseHandler): void
  headText(statusLine: string, headerLines: string, length: number | 'unsaid'): string
  answer(status: number, headerLines: string, body: string | Buffer, failed?: boolean): void
  beginAnswer(status: number, headerLines: string, length: number | 'unsaid'): void
  refuse(notice: Notice, failed?: boolean): void
  finish(failed?: boolean): void
  abort(failed: boolean): void
}
