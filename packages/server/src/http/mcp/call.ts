import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Caller } from '../handler.ts'
import type { MountDeps } from '../mount-deps.ts'
import type { RowRequest } from './arguments.ts'
import { callRow } from './call-row.ts'
import type { ConfirmationCodes } from './confirmation-codes.ts'
import { defaultStreamSeconds } from './input-schema.ts'
import type { Questions } from './questions.ts'
import type { Dialect } from './revision.ts'
import type { RowAnswer } from './row-answer.ts'

/** Parts of the endpoint that every call uses. */
export interface CallDeps {
  app: FastifyInstance
  mount: MountDeps
  codes: ConfirmationCodes
  questions: Questions
  version: string
}

/** A request of an MCP client, with the means to answer it. */
export interface McpCall extends CallDeps {
  http: FastifyRequest
  caller: Caller
  dialect: Dialect
  /** Fires when the client disconnects. */
  signal: AbortSignal
  /** Sends a message before the response; null if the client accepts no stream. */
  send: ((message: object) => Promise<void>) | null
  /** Begins the stream of the response: its heartbeat keeps a connection open on which nothing is sent for a while. */
  openStream(): void
  progressToken: string | number | undefined
}

type RowOptions = Partial<Pick<Parameters<typeof callRow>[1], 'maxSeconds' | 'lastEventId' | 'onEvent'>>

/**
 * Calls a route of the contract with the token of the MCP request. The route counts the call for the rate limit, so the count of
 * the MCP request is undone.
 */
export function callAs(call: McpCall, request: RowRequest, options: RowOptions = {}): Promise<RowAnswer> {
  const { app, http, signal, mount, caller } = call
  if (!http.state.isCountedByRoute) mount.limiter.uncount('signedIn', caller.userId)
  http.state.isCountedByRoute = true
  return callRow(request, { app, http, signal, maxSeconds: defaultStreamSeconds, ...options })
}
