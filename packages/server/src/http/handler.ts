import type {
  AnyRoute,
  BodyOf,
  EventsOf,
  Level,
  ObjectKind,
  ObjectOf,
  ParamsOf,
  QueryOf,
  ReplyOf,
  Role,
  Rows,
} from '@berth/contract'
import type { WriteDetails } from '../platform/db/write-record.ts'
import type { LoadedObjects } from './objects.ts'

/** The caller of a request: a user, in one organisation, with a session or a token. */
export interface Caller {
  userId: string
  email: string
  organizationId: string
  role: Role
  via: 'session' | 'token'
  sessionId: string | null
  tokenId: string | null
  /** null: all permissions of the role. */
  scopes: ReadonlySet<string> | null
  /** null: every project of the organisation. */
  projectIds: ReadonlySet<string> | null
  expiresAt: string | null
  /** The organisation requires two-factor authentication and the user has none: only its set-up is open. */
  needsSecondFactor: boolean
  /** Authenticated by a stream token that the cloud issued: it gives access to cloud objects only. */
  onlyInCloud?: true
}

export interface Input<T extends AnyRoute> {
  params: ParamsOf<T>
  query: QueryOf<T>
  body: BodyOf<T>
  /** The bytes of an upload, not yet read. */
  upload: AsyncIterable<Uint8Array>
  /** The raw body, for routes that verify a signature. */
  rawBody: Buffer
}

/** A stream of server-sent events. */
export interface EventStream<E = Record<string, unknown>> {
  /** Resolves when the next event may be sent; a client that reads too slowly is disconnected. */
  send<K extends keyof E & string>(event: K, data: E[K], id?: string): Promise<void>
  /** `Last-Event-ID` of a client that reconnects. */
  readonly lastEventId: string | null
  /** Fires when the client disconnects or the server stops. */
  readonly abort: AbortSignal
}

export interface RequestContext {
  /** Throws on a public route without a signed-in caller. */
  readonly caller: Caller
  /** Whether a public route that accepts callers has one. */
  readonly isSignedIn: boolean
  /** The caller's level on the route's object. */
  level: Level
  requestId: string
  ip: string
  secure: boolean
  /** The request comes from a page of another site. */
  isCrossOrigin: boolean
  headers: Record<string, string | string[] | undefined>
  setStatus(status: number): void
  setHeader(name: string, value: string): void
  /** Adds details to the audit log entry. Call before the first commit: the entry commits with the first write. */
  audit(entry: WriteDetails): void
  redirect(url: string): void
  /** Sends a page to a navigating browser: no scripts, and it cannot be framed. */
  page(html: string, status?: number): void
}

export type ContextOf<T extends AnyRoute> = RequestContext & { [K in ObjectOf<T>]: LoadedObjects[K] } & {
  stream: EventStream<EventsOf<T>>
  /** Opens the stream of a streaming write, after its audit log entry. A failure before that is an ordinary error response. */
  begin(): Promise<EventStream<EventsOf<T>>>
}

export type Handler<T extends AnyRoute> = (input: Input<T>, context: ContextOf<T>) => Promise<ReplyOf<T>> | ReplyOf<T>
export type Handlers<T extends Rows> = { [K in keyof T]: Handler<T[K]> }

/** Loads the object in a path within the caller's organisation; undefined when there is none. */
export type Loader<K extends ObjectKind> = (
  params: Record<string, string>,
  caller: Caller,
) => Promise<LoadedObjects[K] | undefined> | LoadedObjects[K] | undefined
export type Loaders = { [K in ObjectKind]?: Loader<K> }
