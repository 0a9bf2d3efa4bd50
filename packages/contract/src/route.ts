import type { Static, TObject, TSchema } from 'typebox'
import type { ErrorCode } from './errors.ts'
import type { RateLimitName } from './limits.ts'
import type { Level, Permission } from './permissions.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** What a path can name; the guard loads it in the caller's organisation before the handler runs. */
export type ObjectKind =
  | 'project'
  /** A project, also a deleted one of which backup runs are kept. */
  | 'savedProject'
  | 'environment'
  | 'routeRule'
  | 'uploadSession'
  | 'deployment'
  | 'volume'
  | 'deployHook'
  | 'channel'
  | 'subscription'
  | 'delivery'
  | 'backupDestination'
  | 'backupPolicy'
  | 'backupRun'
  | 'backupRestore'
  | 'server'
  | 'registryLogin'
  | 'token'
  | 'organization'
  | 'member'
  | 'invitation'

/** Kinds that belong to a project: a grant on that project decides the caller's level on them. */
export const projectScoped: ReadonlySet<ObjectKind> = new Set<ObjectKind>([
  'project',
  'savedProject',
  'environment',
  'routeRule',
  // Of an upload only where it was opened for a project; one for a project to be is the organisation's.
  'uploadSession',
  'deployment',
  'volume',
  'deployHook',
  'backupPolicy',
  'backupRun',
  'backupRestore',
])

type At = `${Method} /${string}`

/** A field of the body that asks for an operator when it is given, or when it is given this value. */
export interface OperatorField {
  field: string
  is?: string
}

interface Row<B, Q, R, E, O> {
  summary: string
  /** The tag a caller must have; a row has either this or `public`. */
  permission?: Permission
  public?: true
  /** Of a public row: it says more to those who have signed in. */
  knowsCaller?: true
  /** The object that the path names: 404 when it is not in the caller's organisation. */
  on?: O
  /** The body's field that names it instead of the path; where that field is left out, the row is about no object yet. */
  inBody?: string
  /** Other fields, of the body or the query, that name objects: one that is not the organisation's is as if it never was. */
  names?: Readonly<Record<string, ObjectKind>>
  /**
   * What a token that is limited to projects gets here besides the projects' own objects; without it: 403.
   * `filtered`: only what hangs on its projects is read or written. `own`: only the token itself, for which a token needs no scope.
   */
  projectTokens?: 'filtered' | 'own'
  /** It reads or writes the machine itself: asks for an operator of the instance, always or where the body has one of these. */
  operator?: true | readonly OperatorField[]
  /** Answered here for a project of the cloud too; every other row on such a project is passed on to the cloud. */
  here?: true
  /** What the cloud calls it, where the row itself is of self-hosted instances alone: it is passed on to that one. */
  inCloud?: At
  /** The level on that object, else 403. The tag's own level is always asked for as well. */
  needs?: Level
  /** Not mounted on the cloud service: a true 404 there. */
  selfHostedOnly?: true
  query?: Q
  body?: B
  /** A body of any content type is read and ignored. */
  ignoresBody?: true
  /** The body may be left out altogether. */
  bodyOptional?: true
  /** Raw bytes instead of JSON; they reach the handler as a stream. */
  upload?: { contentType: string; limitBytes: number }
  returns?: R
  /** Answers with bytes as they are instead of JSON. */
  bytes?: true
  status?: 200 | 201 | 202 | 204
  /** A second success status: `ensure` answers 201 when it created. */
  alsoStatus?: 201
  /** A credential of its own instead of a token or session; the reference names it. */
  credential?: 'policyToken' | 'hookSignature'
  /** Server-sent events: event name → its data. */
  stream?: E
  /** The stream also opens with `?token=`, a single-use token minted by another route. */
  streamToken?: true
  /** The answer holds such a token; this field of it says for which path. */
  mints?: 'url' | 'streamUrl'
  errors?: readonly ErrorCode[]
  /** Every failure is the same 404, byte for byte. */
  conceal?: true
  rateLimit?: RateLimitName
  /** A browser navigates here: the answer is a redirect or a page. */
  browser?: true
  /** Raw body kept for a signature check. */
  rawBody?: true
  /** The largest body, where it is not the one of all other rows. */
  bodyBytes?: number
  /** The same route under another method or path. */
  alsoAt?: readonly At[]
}

export interface Route<
  A extends string = string,
  B extends TSchema = TSchema,
  Q extends TObject = TObject,
  R extends TSchema = TSchema,
  E extends Record<string, TSchema> = Record<string, TSchema>,
  O extends ObjectKind = ObjectKind,
> extends Row<B, Q, R, E, O> {
  at: A
  method: Method
  path: string
}

/** One row of the table: everything the server, the client, the reference and the tests need to know of a route. */
export function route<
  const A extends At,
  B extends TSchema = never,
  Q extends TObject = never,
  R extends TSchema = never,
  E extends Record<string, TSchema> = never,
  const O extends ObjectKind = never,
>(at: A, row: Row<B, Q, R, E, O>): Route<A, B, Q, R, E, O> {
  const [method, path] = at.split(' ') as [Method, string]
  if (!row.permission === !row.public) throw new Error(`${at}: a row has either a permission or is public`)
  return { ...row, at, method, path }
}

/** The field of the body that asks for an operator; undefined when none does. */
export function operatorField({ operator }: Pick<AnyRoute, 'operator'>, body: unknown): string | undefined {
  if (!operator || operator === true) return undefined
  const given = (body ?? {}) as Record<string, unknown>
  const asking = operator.find(({ field, is }) => (is === undefined ? given[field] != null : given[field] === is))
  return asking?.field
}

type ParamNames<A extends string> = A extends `${string}:${infer P}/${infer Rest}`
  ? P | ParamNames<`/${Rest}`>
  : A extends `${string}:${infer P}`
    ? P
    : never

// biome-ignore lint/suspicious/noExplicitAny: rows of all shapes meet here
export type AnyRoute = Route<string, any, any, any, any, any>
export type Rows = Record<string, AnyRoute>

export type ParamsOf<T extends AnyRoute> = { [K in ParamNames<T['at']>]: string }
export type BodyOf<T extends AnyRoute> = Of<NonNullable<T['body']>, undefined>
export type QueryOf<T extends AnyRoute> = Of<NonNullable<T['query']>, Record<string, never>>
export type ReplyOf<T extends AnyRoute> = Of<NonNullable<T['returns']>, undefined>
/** Event name → its data. */
export type EventsOf<T extends AnyRoute> = { [K in keyof NonNullable<T['stream']>]: Static<NonNullable<T['stream']>[K]> }
export type ObjectOf<T extends AnyRoute> = NonNullable<T['on']>

type Of<S, Otherwise> = [S] extends [never] ? Otherwise : S extends TSchema ? Static<S> : Otherwise
