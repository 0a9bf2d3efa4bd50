import type { Static, TObject, TSchema } from 'typebox'
import type { ErrorCode } from './errors.ts'
import type { RateLimitName } from './limits.ts'
import type { Level, Permission } from './permissions.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** The kinds of object that a path can name; the guard loads the object in the caller's organisation before the handler runs. */
export type ObjectKind =
  | 'project'
  /** A project, or a deleted project that still has backup runs. */
  | 'savedProject'
  | 'environment'
  | 'routeRule'
  /** A host name of a project: the free one, or a connected domain. */
  | 'domain'
  | 'uploadSession'
  | 'deployment'
  | 'volume'
  | 'deployHook'
  /** A scheduled task. */
  | 'cronJob'
  | 'cronRun'
  /** A link to a service. */
  | 'link'
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
  /** A sign-in of the caller. */
  | 'session'
  /** A passkey of the caller. */
  | 'passkey'
  | 'organization'
  | 'member'
  | 'invitation'

/** Kinds that belong to a project: a grant on that project decides the caller's level on them. */
export const projectScoped: ReadonlySet<ObjectKind> = new Set<ObjectKind>([
  'project',
  'savedProject',
  'environment',
  'routeRule',
  'domain',
  // Only if the upload was opened for a project; an upload for a new project belongs to the organisation.
  'uploadSession',
  'deployment',
  'volume',
  'deployHook',
  'cronJob',
  'cronRun',
  'link',
  'backupPolicy',
  'backupRun',
  'backupRestore',
])

type At = `${Method} /${string}`

/** A field of the body that requires an operator if it is set, or if it has this value. */
export interface OperatorField {
  field: string
  is?: string
}

interface Row<B, Q, R, E, O> {
  summary: string
  /** The permission tag that a caller must have; a row has either this or `public`. */
  permission?: Permission
  public?: true
  /** Open to a member who has not yet set up the two-factor authentication that the organisation requires. */
  withoutSecondFactor?: true
  /** Marks a public row that responds with more to signed-in callers. */
  acceptsCaller?: true
  /** The object that the path names: 404 if it is not in the caller's organisation. */
  on?: O
  /** The body's field that names the object instead of the path; if it is absent, the row has no object yet. */
  inBody?: string
  /** Other fields, of the body or the query, that name objects: an object of another organisation is treated as not found. */
  names?: Readonly<Record<string, ObjectKind>>
  /**
   * Access of a token that is limited to projects, besides the projects' own objects; without it: 403. `filtered`: only objects of
   * its projects are read or written. `own`: only the token itself, which needs no scope.
   */
  projectTokens?: 'filtered' | 'own'
  /**
   * The row reads or writes the machine itself: requires an operator of the instance, always or if the body has one of these
   * fields.
   */
  operator?: true | readonly OperatorField[]
  /**
   * The row deletes, exposes or gives access in a way that cannot be undone: an agent's call needs the confirmation of a person,
   * always or if the body has one of these fields. DELETE rows always need it.
   */
  confirm?: true | readonly string[]
  /** Handled here for a project in the cloud too; every other row on such a project is forwarded to the cloud. */
  here?: true
  /** The cloud's equivalent of a row that exists only on self-hosted instances: the request is forwarded to it. */
  inCloud?: At
  /** The required level on that object, otherwise 403. The tag's own level is always required as well. */
  needs?: Level
  /** Not mounted on the cloud service: 404 there. */
  selfHostedOnly?: true
  query?: Q
  body?: B
  /** A body of any content type is read and ignored. */
  ignoresBody?: true
  /** The body may be omitted. */
  bodyOptional?: true
  /** Raw bytes instead of JSON; they reach the handler as a stream. */
  upload?: { contentType: string; limitBytes: number }
  returns?: R
  /** Responds with raw bytes instead of JSON. */
  bytes?: true
  status?: 200 | 201 | 202 | 204
  /** A second success status: `ensure` responds with 201 if it created the project. */
  alsoStatus?: 201
  /** A separate credential instead of a token or session; the reference names it. */
  credential?: 'policyToken' | 'hookSignature'
  /** Server-sent events: event name → its data. */
  stream?: E
  /** The stream also opens with `?token=`, a single-use token created by another route. */
  streamToken?: true
  /** The response contains such a token; this field of it names the path. */
  mints?: 'url' | 'streamUrl'
  errors?: readonly ErrorCode[]
  /** Every failure is the same 404, byte for byte. */
  conceal?: true
  rateLimit?: RateLimitName
  /** A browser navigates here: the response is a redirect or a page. */
  browser?: true
  /** Keeps the raw body for a signature check. */
  rawBody?: true
  /** The maximum body size, if it differs from the default. */
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

/** A row of the table: everything that the server, the client, the reference and the tests need to know about a route. */
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

/** The field of the body that requires an operator; undefined if none does. */
export function operatorField({ operator }: Pick<AnyRoute, 'operator'>, body: unknown): string | undefined {
  if (!operator || operator === true) return undefined
  const given = (body ?? {}) as Record<string, unknown>
  const request = operator.find(({ field, is }) => (is === undefined ? given[field] != null : given[field] === is))
  return request?.field
}

/** Whether a person must confirm the call of an agent. */
export function needsConfirmation({ method, confirm }: Pick<AnyRoute, 'method' | 'confirm'>, body: unknown): boolean {
  if (method === 'DELETE' || confirm === true) return true
  const given = (body ?? {}) as Record<string, unknown>
  return confirm?.some((field) => !isEmptyValue(given[field])) ?? false
}

const isEmptyValue = (value: unknown): boolean => value == null || (Array.isArray(value) && value.length === 0)

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
