import type { Readable } from 'node:stream'
import { type AnyRoute, hasPermission, levelOfRole, type ObjectKind, projectScoped } from '@berth/contract'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Awaitable, thenSync } from '../platform/awaitable.ts'
import { fail } from '../platform/failure.ts'
import { checkLevel, type Named, namesOf, refuseTag } from './guard.ts'
import type { Caller, Loaders } from './handler.ts'

/** The linked cloud, which may have projects of the organisation that are not on this instance. */
export interface CloudProxy {
  isLinked(organizationId: string): Awaitable<boolean>
  /** An object that identifies the link; it changes when the organisation is linked to another account or to none. */
  linkOf(organizationId: string): Awaitable<object | null>
  /**
   * Forwards a request. Rejects with `cloud_unreachable` on timeout, and with `ProjectMovedBack` if the project has moved to this
   * instance meanwhile.
   */
  requestCloud(organizationId: string, request: ForwardedRequest): Promise<ForwardedAnswer>
  /**
   * Sends an upload of this instance to the cloud and returns its session in the cloud; undefined when the session is not of this
   * instance.
   */
  forwardUpload(organizationId: string, upload: { sessionId: string; projectId: string }): Promise<string | undefined>
}

/** The project has moved to this instance: the read is answered here. */
export class ProjectMovedBack extends Error {
  override readonly name = 'ProjectMovedBack'
}

export interface ForwardedRequest {
  /** Undefined when the route names another object. */
  projectId: string | undefined
  method: string
  path: string
  headers: Record<string, string | string[]>
  body?: Readable | string
  /** The response is a stream, which may last for hours. */
  isStream: boolean
  abort: AbortSignal
}

export interface ForwardedAnswer {
  status: number
  headers: Record<string, string | string[]>
  body: Readable
}

interface CloudProxyDeps {
  cloud: CloudProxy
  loaders: Loaders
}

/** Marks a forwarded request, which is never forwarded again. */
const cloudForwardedHeader = 'berth-forwarded'

export const wasForwarded = ({ headers }: Pick<FastifyRequest, 'headers'>): boolean => headers[cloudForwardedHeader] !== undefined

/** Whether the route could be about an object in the cloud. */
export const mayBeInCloud = (row: AnyRoute): boolean =>
  !row.public && row.on !== undefined && projectScoped.has(row.on) && !row.here

/** Whether the object is in the cloud: it is not on this instance, and the organisation is linked. */
export function isInCloud(row: AnyRoute, named: Named, caller: Caller, deps: CloudProxyDeps): Awaitable<boolean> {
  return thenSync(deps.cloud.isLinked(caller.organizationId), (isLinked) => isLinked && isNotLocal(row, named, caller, deps))
}

async function isNotLocal(row: AnyRoute, named: Named, caller: Caller, { loaders }: CloudProxyDeps): Promise<boolean> {
  const names = namesOf(row, named)
  if (!names || !isAllowedByToken(row, names, caller) || !areSafeParams(named.params)) return false
  const kind = row.on as ObjectKind
  if (await loaders[kind]?.(names, caller)) return false
  // All objects of a local project are local.
  return kind === 'project' || names.id === undefined || !(await loaders.project?.(names, caller))
}

/**
 * Whether a project-limited token may reach the object. Only a route about a project can be checked: for other objects, only the
 * cloud knows the project.
 */
function isAllowedByToken(row: AnyRoute, names: Record<string, string>, { projectIds, onlyInCloud }: Caller): boolean {
  if (!projectIds || onlyInCloud) return true
  const id = projectIdOf(row, names)
  return id !== undefined && projectIds.has(id)
}

const projectIdOf = (row: AnyRoute, names: Record<string, string> | undefined): string | undefined =>
  row.on === 'project' ? (names?.[row.inBody ?? 'id'] ?? names?.projectId) : undefined

/**
 * Accepts only ids and host names as path parameters: a proxy in front of the cloud could normalise other values to another path.
 * A host name has no empty label, so it is never `.` or `..`.
 */
const areSafeParams = (params: unknown): boolean =>
  Object.entries((params ?? {}) as Record<string, string>).every(([name, value]) =>
    name === 'hostname' ? /^(?=.{1,253}$)[\w-]+(\.[\w-]+)*$/.test(value) : /^[\w-]{1,100}$/.test(value),
  )

/**
 * Whether the body is read before forwarding: it names the object or an upload, or a project-limited caller could name other
 * objects in it.
 */
export const readsBody = (row: AnyRoute, { projectIds }: Caller): boolean =>
  row.inBody !== undefined || uploadField(row) !== undefined || (projectIds !== null && otherObjectFields(row).length > 0)

/** The body field that names an upload. */
const uploadField = ({ names = {} }: AnyRoute): string | undefined =>
  Object.entries(names).find(([, kind]) => kind === 'uploadSession')?.[0]

/** Replaces the local upload session in the body with one in the cloud. */
export async function withCloudUpload(
  row: AnyRoute,
  { params, body, caller }: { params: unknown; body: unknown; caller: Caller },
  cloud: CloudProxy,
): Promise<unknown> {
  const field = uploadField(row)
  const sessionId = field && (body as Record<string, unknown> | undefined)?.[field]
  const names = namesOf(row, { params, body })
  const projectId = names?.[row.inBody ?? 'id'] ?? names?.projectId
  // A project-limited token has no local upload for a cloud project.
  if (typeof sessionId !== 'string' || projectId === undefined || caller.projectIds) return body
  const cloudSessionId = await cloud.forwardUpload(caller.organizationId, { sessionId, projectId })
  return cloudSessionId === undefined ? body : { ...(body as object), [field as string]: cloudSessionId }
}

/** Body fields that name other objects. Uploads are excluded: the cloud knows their project. */
const otherObjectFields = ({ names = {} }: AnyRoute): string[] =>
  Object.entries(names).flatMap(([field, kind]) => (kind === 'member' || kind === 'uploadSession' ? [] : [field]))

/**
 * Rejects other objects in the body for a project-limited token: this instance does not know which project they belong to in the
 * cloud.
 */
export function refuseOtherObjects(row: AnyRoute, body: unknown, { projectIds }: Caller): void {
  const fields = (body ?? {}) as Record<string, unknown>
  const field = projectIds && otherObjectFields(row).find((name) => fields[name] != null)
  if (field) fail('forbidden', { field, message: `${field}: this token is limited to specific projects in the cloud` })
}

/** Checks role and scopes: grants of this instance do not apply to cloud projects. */
export function checkRole(row: AnyRoute, caller: Caller): void {
  const tag = row.permission as NonNullable<AnyRoute['permission']>
  if (!hasPermission(caller, tag)) refuseTag(tag)
  checkLevel(row, levelOfRole[caller.role], caller)
}

/** Forwards a request, with its body stream or a body that was already read. */
export async function requestFromCloud(
  row: AnyRoute,
  request: FastifyRequest,
  reply: FastifyReply,
  cloud: CloudProxy,
  readBody?: string,
): Promise<ForwardedAnswer> {
  const disconnected = new AbortController()
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) disconnected.abort()
  })
  const body = readBody ?? (hasBody(request) ? request.raw : undefined)
  return cloud.requestCloud((request.state.caller as Caller).organizationId, {
    projectId: projectIdOf(row, namesOf(row, request)),
    method: row.inCloud?.split(' ')[0] ?? request.method,
    path: pathOf(row, request),
    headers: {
      ...pick(request.headers, requestHeaders),
      ...(readBody === undefined ? pick(request.headers, ['content-length']) : {}),
      [cloudForwardedHeader]: request.id,
    },
    ...(body === undefined ? {} : { body }),
    isStream: row.stream !== undefined,
    abort: disconnected.signal,
  })
}

/** Request headers that are forwarded: no credential, cookie, organisation or connection header. */
const requestHeaders = ['accept', 'content-type', 'last-event-id']

function pick(headers: FastifyRequest['headers'], names: readonly string[]): Record<string, string | string[]> {
  const entries = names.map((name) => [name, headers[name]] as const)
  return Object.fromEntries(entries.filter((entry): entry is [string, string | string[]] => entry[1] !== undefined))
}

const hasBody = ({ headers }: FastifyRequest): boolean =>
  headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'

/** Builds the path from the route and the ids, never from the raw URL. */
function pathOf(row: AnyRoute, { routeOptions, params, url }: FastifyRequest): string {
  const route = row.inCloud ? `/api${row.inCloud.split(' ')[1]}` : (routeOptions.url as string)
  const path = route.replace(/:(\w+)/g, (_, name: string) => (params as Record<string, string>)[name] as string)
  const at = url.indexOf('?')
  const query = at < 0 ? '' : withoutToken(url.slice(at + 1))
  return query ? `${path}?${query}` : path
}

/** Removes a stream token: it was spent here and is unknown to the cloud. */
const withoutToken = (query: string): string =>
  query
    .split('&')
    .filter((part) => !new URLSearchParams(part).has('token'))
    .join('&')
