import type { AnyRoute } from '@berth/contract'
import type { RecordingTransaction, WriteRecord } from '../platform/write-record.ts'
import type { AuditEvent } from './audit-event.ts'
import type { CloudProxy } from './cloud-proxy.ts'
import type { ForwardDeps } from './forward.ts'
import type { Gatekeeper } from './guard.ts'
import type { Caller, Loaders, RequestContext } from './handler.ts'
import type { OpenStreams } from './open-streams.ts'
import type { RateLimiter } from './rate-limit.ts'
import type { ReadSlots } from './read-slots.ts'

export interface MountDeps {
  mode: 'self-hosted' | 'cloud'
  gatekeeper: Gatekeeper
  loaders: Loaders
  limiter: RateLimiter
  auditLog: {
    /** Within the transaction of the write that the event is about. */
    append(transaction: RecordingTransaction, event: AuditEvent): Promise<void>
    /** In a transaction of its own. */
    record(event: AuditEvent): Promise<void>
  }
  /** Spends a single-use stream token; the caller who minted it, for this very path. */
  spendStreamToken(token: string, path: string): Promise<Caller | null>
  /** The caller who opened the upload session whose target carries this token. */
  useUploadToken(token: string, path: string): Promise<Caller | null>
  noteStreamToken: ForwardDeps['noteStreamToken']
  stopping: AbortSignal
  /** Bounds the reads that are computed at once. */
  reads: ReadSlots
  /** Judges every open stream again and again. */
  streams: OpenStreams
  /** Where projects are that are not here; without it everything is. */
  elsewhere?: CloudProxy
}

/** What the steps of one request leave for those after them. */
export interface RequestState {
  caller: Caller | null
  object?: object
  level?: RequestContext['level']
  rawBody?: Buffer
  /** The body's JSON holds an escape that no text should. */
  mayBeUnclean?: true
  /** Names the fields of the body that the row does not declare. */
  warnings?: readonly string[]
  /** The body with those fields, where it may have to be forwarded: the cloud names them again. */
  bodyAsSent?: unknown
  /** Of a write: its entry in the audit log. */
  record?: WriteRecord
}

declare module 'fastify' {
  interface FastifyRequest {
    state: RequestState
  }
  interface FastifyContextConfig {
    row?: AnyRoute
  }
}
