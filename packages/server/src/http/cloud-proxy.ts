import type { Readable } from 'node:stream'
import { type AnyRoute, holds, levelOfRole, type ObjectKind, projectScoped } from '@berth/contract'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Awaitable, after } from '../platform/awaitable.ts'
import { fail } from '../platform/failure.ts'
import { checkLevel, type Named, namesOf, refuseTag } from './guard.ts'
import type { Caller, Loaders } from './handler.ts'

/** The cloud where projects of an organisation may live that are not here. */
export interface CloudProxy {
  isLinked(organizationId: string): Awaitable<boolean>
  /** Another one once the organisation is linked to another account, or to none. */
  linkOf(organizationId: string): Awaitable<object | null>
  /**
   * Rejects with `cloud_unreachable` when no answer comes in time, and with `ProjectCameBack` when a move from the cloud to this
   * instance has ended meanwhile.
   */
  ask(organizationId: string, request: ForwardedRequest): Promise<ForwardedAnswer>
  /** Sends an upload of this instance on to the cloud and returns the session there; undefined: the session is not of this instance. */
  passUploadOn(organizationId: string, upload: { sessionId: string; projectId: string }): Promise<string | undefined>
}

/** A read finds the project on this instance now: the read is answered here. */
export class ProjectCameBack extends Error {
  override readonly name = 'ProjectCameBack'
}

export interface ForwardedRequest {
  /** Undefined where the route names another object. */
  projectId: string | undefined
  method: string
  path: string
  headers: Record<string, string | string[]>
  body?: Readable | string
  /** The answer may go on for hours. */
  isStream: boolean
  abort: AbortSignal
}

export interface ForwardedAnswer {
  status: number
  headers: Record<string, string | string[]>
  body: Readable
}

interface ElsewhereDeps {
  elsewhere: CloudProxy
  loaders: Loaders
}

/** Says that a request was passed on once; such a one is never passed on again. */
const forwardedHeader = 'berth-forwarded'

export const wasForwarded = ({ headers }: Pick<FastifyRequest, 'headers'>): boolean => headers[forwardedHeader] !== undefined

/** Whether the row could be about something that is in the cloud. */
export const mayBeElsewhere = (row: AnyRoute): boolean =>
  !row.public && row.on !== undefined && projectScoped.has(row.on) && !row.here

/** What is here is answered here. What is not is asked of the cloud, where the organisation has one. */
export function isElsewhere(row: AnyRoute, named: Named, caller: Caller, deps: ElsewhereDeps): Awaitable<boolean> {
  return after(deps.elsewhere.isLinked(caller.organizationId), (isLinked) => isLinked && isNotHere(row, named, caller, deps))
}

async function isNotHere(row: AnyRoute, named: Named, caller: Caller, { loaders }: ElsewhereDeps): Promise<boolean> {
  const names = namesOf(row, named)
  if (!names || !isInReach(row, names, caller) || !areIds(named.params)) return false
  const kind = row.on as ObjectKind
  if (await loaders[kind]?.(names, caller)) return false
  // Of a project that is here everything is here.
  return kind === 'project' || names.id === undefined || !(await loaders.project?.(names, caller))
}

/** Of a token that is limited to projects only the project itself can be told; what hangs on one is known to the cloud alone. */
function isInReach(row: AnyRoute, names: Record<string, string>, { projectIds, onlyElsewhere }: Caller): boolean {
  if (!projectIds || onlyElsewhere) return true
  const id = projectIdOf(row, names)
  return id !== undefined && projectIds.has(id)
}

const projectIdOf = (row: AnyRoute, names: Record<string, string> | undefined): string | undefined =>
  row.on === 'project' ? (names?.[row.inBody ?? 'id'] ?? names?.projectId) : undefined

/** A part of a path that is anything else could be another path for whoever stands before the cloud and tidies addresses. */
const areIds = (params: unknown): boolean =>
  Object.values((params ?? {}) as Record<string, string>).every((value) => /^[\w-]{1,100}$/.test(value))

/**
 * Whether the body is read before it is passed on: it names the object or an upload, or a caller who is limited to projects
 * could name others in it.
 */
export const readsBody = (row: AnyRoute, { projectIds }: Caller): boolean =>
  row.inBody !== undefined || uploadField(row) !== undefined || (projectIds !== null && othersOf(row).length > 0)

/** The field of the body that names an upload. */
const uploadField = ({ names = {} }: AnyRoute): string | undefined =>
  Object.entries(names).find(([, kind]) => kind === 'uploadSession')?.[0]

/** The body with the session in the cloud instead of the one here that the files were uploaded to. */
export async function withUploadThere(
  row: AnyRoute,
  { params, body, caller }: { params: unknown; body: unknown; caller: Caller },
  elsewhere: CloudProxy,
): Promise<unknown> {
  const field = uploadField(row)
  const sessionId = field && (body as Record<string, unknown> | undefined)?.[field]
  const names = namesOf(row, { params, body })
  const projectId = names?.[row.inBody ?? 'id'] ?? names?.projectId
  // A token that is limited to projects has no upload here that could be for one in the cloud.
  if (typeof sessionId !== 'string' || projectId === undefined || caller.projectIds) return body
  const there = await elsewhere.passUploadOn(caller.organizationId, { sessionId, projectId })
  return there === undefined ? body : { ...(body as object), [field as string]: there }
}

/** Of an upload the cloud knows for which project it is. */
const othersOf = ({ names = {} }: AnyRoute): string[] =>
  Object.entries(names).flatMap(([field, kind]) => (kind === 'member' || kind === 'uploadSession' ? [] : [field]))

/** Nobody here knows what belongs to which project in the cloud: a token of certain projects names nothing else there. */
export function refuseOthers(row: AnyRoute, body: unknown, { projectIds }: Caller): void {
  const given = (body ?? {}) as Record<string, unknown>
  const field = projectIds && othersOf(row).find((name) => given[name] != null)
  if (field) fail('forbidden', { field, words: `${field}: this token is limited to specific projects in the cloud` })
}

/** Grants of this instance do not apply to a project in the cloud: role and scopes decide. */
export function checkRole(row: AnyRoute, caller: Caller): void {
  const tag = row.permission as NonNullable<AnyRoute['permission']>
  if (!holds(caller, tag)) refuseTag(tag)
  checkLevel(row, levelOfRole[caller.role], caller)
}

/** Asks the cloud, with the body as it comes in, or with one that was read already. */
export async function askElsewhere(
  row: AnyRoute,
  request: FastifyRequest,
  reply: FastifyReply,
  elsewhere: CloudProxy,
  readBody?: string,
): Promise<ForwardedAnswer> {
  const gone = new AbortController()
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) gone.abort()
  })
  const body = readBody ?? (hasBody(request) ? request.raw : undefined)
  return elsewhere.ask((request.state.caller as Caller).organizationId, {
    projectId: projectIdOf(row, namesOf(row, request)),
    method: row.inCloud?.split(' ')[0] ?? request.method,
    path: pathOf(row, request),
    headers: {
      ...pick(request.headers, requestHeaders),
      ...(readBody === undefined ? pick(request.headers, ['content-length']) : {}),
      [forwardedHeader]: request.id,
    },
    ...(body === undefined ? {} : { body }),
    isStream: row.stream !== undefined,
    abort: gone.signal,
  })
}

/** Nothing else crosses over: no credential, no cookie, no organisation, nothing about the connection. */
const requestHeaders = ['accept', 'content-type', 'last-event-id']

function pick(headers: FastifyRequest['headers'], names: readonly string[]): Record<string, string | string[]> {
  const entries = names.map((name) => [name, headers[name]] as const)
  return Object.fromEntries(entries.filter((entry): entry is [string, string | string[]] => entry[1] !== undefined))
}

const hasBody = ({ headers }: FastifyRequest): boolean =>
  headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'

/** Made of the route and of ids, never of the address as it came in. */
function pathOf(row: AnyRoute, { routeOptions, params, url }: FastifyRequest): string {
  const route = row.inCloud ? `/api${row.inCloud.split(' ')[1]}` : (routeOptions.url as string)
  const path = route.replace(/:(\w+)/g, (_, name: string) => (params as Record<string, string>)[name] as string)
  const at = url.indexOf('?')
  const query = at < 0 ? '' : withoutToken(url.slice(at + 1))
  return query ? `${path}?${query}` : path
}

/** A token that opens a stream here was spent here and means nothing there. */
const withoutToken = (query: string): string =>
  query
    .split('&')
    .filter((part) => !new URLSearchParams(part).has('token'))
    .join('&')
