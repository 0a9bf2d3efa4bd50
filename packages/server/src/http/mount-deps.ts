import type { AnyRoute } from '@berth/contract'
import type { Awaitable } from '../platform/awaitable.ts'
import type { RecordingTransaction, WriteRecord } from '../platform/db/write-record.ts'
import type { AuditEvent } from './audit-event.ts'
import type { CloudProxy } from './cloud-proxy.ts'
import type { ForwardDeps } from './forward.ts'
import type { Authenticator } from './guard.ts'
import type { Caller, Loaders, RequestContext } from './handler.ts'
import type { OpenStreams } from './open-streams.ts'
import type { RateLimiter } from './rate-limit.ts'
import type { ReadSlots } from './read-slots.ts'
import type { WorkerProxy } from './worker-proxy.ts'

export interface MountDeps {
  mode: 'self-hosted' | 'cloud'
  authenticator: Authenticator
  loaders: Loaders
  limiter: RateLimiter
  auditLog: {
    /** Appends within the transaction of the write that the event describes. */
    append(transaction: RecordingTransaction, event: AuditEvent): Promise<void>
    /** Appends in a transaction of its own. */
    record(event: AuditEvent): Promise<void>
  }
  /** Consumes a single-use stream token; returns the caller who created it for this path. */
  spendStreamToken(token: string, path: string): Promise<Caller | null>
  /** Returns the caller who opened the upload session of this token. */
  useUploadToken(token: string, path: string): Promise<Caller | null>
  noteStreamToken: ForwardDeps['noteStreamToken']
  stopping: AbortSignal
  /** Limits concurrent reads. */
  reads: ReadSlots
  /** Re-checks the access of every open stream. */
  streams: OpenStreams
  /** Forwards calls about cloud projects; absent without a cloud. */
  cloud?: CloudProxy
  /** The worker of an API process; absent where this process does the work itself. */
  worker?: WorkerProxy | undefined
  /** Whether any organisation is linked to a cloud; set where there is a worker. */
  hasCloudLinks?: () => Awaitable<boolean>
  /** Brings copies of the worker's state up to date; awaited before each read. */
  refreshCopies?: (() => Awaitable<void>) | undefined
}

/** State that the steps of a request pass on. */
export interface RequestState {
  caller: Caller | null
  object?: object
  level?: RequestContext['level']
  rawBody?: Buffer
  /** The body's JSON contains an escape sequence that may be invalid text. */
  mayHaveInvalidText?: true
  /** Warnings about body fields that the route does not declare. */
  warnings?: readonly string[]
  /** The body with those fields, in case it is forwarded: the cloud then reports them too. */
  bodyAsSent?: unknown
  /** The audit log entry of a write. */
  record?: WriteRecord
  /** True once a route that this request called has counted it for the rate limit. */
  isCountedByRoute?: true
}

declare module 'fastify' {
  interface FastifyRequest {
    state: RequestState
  }
  interface FastifyContextConfig {
    row?: AnyRoute
  }
}
