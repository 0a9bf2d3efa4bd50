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
import type { WriteDetails } from '../platform/write-record.ts'
import type { LoadedObjects } from './objects.ts'

/** Who asks: a person, in one organisation, by a session or by a token. */
export interface Caller {
  userId: string
  email: string
  organizationId: string
  role: Role
  via: 'session' | 'token'
  sessionId: string | null
  tokenId: string | null
  /** null: all that the role has. */
  scopes: ReadonlySet<string> | null
  /** null: every project of the organisation. */
  projectIds: ReadonlySet<string> | null
  expiresAt: string | null
  /** By a stream token that the cloud made: it opens what is there, and nothing that is here. */
  onlyElsewhere?: true
}

export interface Input<T extends AnyRoute> {
  params: ParamsOf<T>
  query: QueryOf<T>
  body: BodyOf<T>
  /** The bytes of an upload row, not yet read. */
  upload: AsyncIterable<Uint8Array>
  /** The body as it came in, on rows that check a signature over it. */
  rawBody: Buffer
}

/** One live stream of server-sent events. */
export interface EventStream<E = Record<string, unknown>> {
  /** Resolves once the frame may be followed by another; a reader that is too slow is dropped. */
  send<K extends keyof E & string>(event: K, data: E[K], id?: string): Promise<void>
  /** `Last-Event-ID` of a reader that comes back. */
  readonly lastEventId: string | null
  /** Ends when the reader is gone or the server stops. */
  readonly abort: AbortSignal
}

export interface RequestContext {
  /** Throws on a public row, where nobody has signed in. */
  readonly caller: Caller
  /** On a public row that knows callers: whether somebody has signed in. */
  readonly isSignedIn: boolean
  /** The caller's level on the row's object. */
  level: Level
  requestId: string
  ip: string
  secure: boolean
  /** A browser sends it for a page of another site. */
  isFromElsewhere: boolean
  headers: Record<string, string | string[] | undefined>
  setStatus(status: number): void
  setHeader(name: string, value: string): void
  /** Names what is written, where the path does not. Before it is committed: the entry in the audit log commits with the first write. */
  audit(entry: WriteDetails): void
  redirect(url: string): void
  /** Of a row that a browser navigates to: a page without scripts, that no other page can frame. */
  page(html: string, status?: number): void
}

export type ContextOf<T extends AnyRoute> = RequestContext & { [K in ObjectOf<T>]: LoadedObjects[K] } & {
  stream: EventStream<EventsOf<T>>
  /** Of a write that streams, instead of `stream`: puts it on record and opens it. What fails before is an ordinary answer. */
  begin(): Promise<EventStream<EventsOf<T>>>
}

export type Handler<T extends AnyRoute> = (input: Input<T>, context: ContextOf<T>) => Promise<ReplyOf<T>> | ReplyOf<T>
export type Handlers<T extends Rows> = { [K in keyof T]: Handler<T[K]> }

/** How the guard finds what a path names: within the organisation, or undefined. */
export type Loader<K extends ObjectKind> = (
  params: Record<string, string>,
  caller: Caller,
) => Promise<LoadedObjects[K] | undefined> | LoadedObjects[K] | undefined
export type Loaders = { [K in ObjectKind]?: Loader<K> }
