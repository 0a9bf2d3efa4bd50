import type { Readable } from 'node:stream'
import { type AnyRoute, levelOfRole, type ObjectKind, projectScoped, reaches, tagsOf } from '@berth/contract'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Awaitable, after } from '../platform/awaitable.ts'
import { fail } from '../platform/failure.ts'
import { type Named, namesOf, neededLevel, refuseTag } from './guard.ts'
import type { Caller, Loaders } from './handler.ts'

/** The cloud where projects of an organisation may live that are not here. */
export interface Elsewhere {
  isLinked(organizationId: string): Awaitable<boolean>
  /** Rejects with `cloud_unreachable` when no answer comes in time. */
  ask(organizationId: string, request: ForwardedRequest): Promise<ForwardedAnswer>
}

export interface ForwardedRequest {
  method: string
  path: string
  headers: Record<string, string | string[]>
  body?: Readable | string
  abort: AbortSignal
}

export interface ForwardedAnswer {
  status: number
  headers: Record<string, string | string[]>
  body: Readable
}

interface ElsewhereDeps {
  elsewhere: Elsewhere
  loaders: Loaders
}

/** Says that a request was passed on once; such a one is never passed on again. */
const forwardedHeader = 'berth-forwarded'

export const wasForwarded = ({ headers }: Pick<FastifyRequest, 'headers'>): boolean => headers[forwardedHeader] !== undefined

/** Whether the row could be about something that is in the cloud. */
export const mayBeElsewhere = (row: AnyRoute): boolean => row.on !== undefined && projectScoped.has(row.on) && !row.here

/** What is here is answered here. What is not is asked of the cloud, where the organisation has one. */
export function isElsewhere(row: AnyRoute, named: Named, caller: Caller, deps: ElsewhereDeps): Awaitable<boolean> {
  return after(deps.elsewhere.isLinked(caller.organizationId), (isLinked) => isLinked && isNotHere(row, named, caller, deps))
}

async function isNotHere(row: AnyRoute, named: Named, caller: Caller, { loaders }: ElsewhereDeps): Promise<boolean> {
  const names = namesOf(row, named)
  if (!names || !isInReach(row, names, caller)) return false
  const kind = row.on as ObjectKind
  if (await loaders[kind]?.(names, caller)) return false
  // Of a project that is here everything is here.
  return kind === 'project' || names.id === undefined || !(await loaders.project?.(names, caller))
}

/** Of a token that is limited to projects only the project itself can be told; what hangs on one is known to the cloud alone. */
function isInReach(row: AnyRoute, names: Record<string, string>, { projectIds }: Caller): boolean {
  if (!projectIds) return true
  const id = names[row.inBody ?? 'id'] ?? names.projectId
  return row.on === 'project' && id !== undefined && projectIds.has(id)
}

/** No grant here speaks of a project in the cloud: the role alone decides. */
export function checkRole(row: AnyRoute, { role }: Caller): void {
  const tag = row.permission as NonNullable<AnyRoute['permission']>
  if (!tagsOf(role).has(tag)) refuseTag(tag)
  const needed = neededLevel(row)
  if (!reaches(levelOfRole[role], needed)) fail('forbidden', { permission: tag, words: `This needs ${needed} on the project` })
}

/** Asks the cloud, with the body as it comes in, or with one that was read already. */
export async function askElsewhere(
  request: FastifyRequest,
  reply: FastifyReply,
  caller: Caller,
  elsewhere: Elsewhere,
  readBody?: string,
): Promise<ForwardedAnswer> {
  const gone = new AbortController()
  reply.raw.once('close', () => gone.abort())
  const body = readBody ?? (hasBody(request) ? request.raw : undefined)
  return elsewhere.ask(caller.organizationId, {
    method: request.method,
    path: withoutToken(request.url),
    headers: {
      ...pick(request.headers, requestHeaders),
      ...(readBody === undefined ? pick(request.headers, ['content-length']) : {}),
      [forwardedHeader]: request.id,
    },
    ...(body === undefined ? {} : { body }),
    abort: gone.signal,
  })
}

/** Nothing else crosses over: no credential, no cookie, no organisation, nothing about the connection. */
const requestHeaders = ['accept', 'content-type', 'last-event-id', 'if-none-match']
/** What is about the connection, or is said by whoever answers the caller. */
const notPassedBack = new Set([
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
  ...[
    'set-cookie',
    'x-request-id',
    'date',
    'strict-transport-security',
    'alt-svc',
    'clear-site-data',
    'access-control-allow-origin',
  ],
])

export const passedBack = (headers: ForwardedAnswer['headers']): ForwardedAnswer['headers'] =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !notPassedBack.has(name)))

function pick(headers: FastifyRequest['headers'], names: readonly string[]): Record<string, string | string[]> {
  const entries = names.map((name) => [name, headers[name]] as const)
  return Object.fromEntries(entries.filter((entry): entry is [string, string | string[]] => entry[1] !== undefined))
}

const hasBody = ({ headers }: FastifyRequest): boolean =>
  headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'

/** A token that opens a stream here was spent here and means nothing there. */
function withoutToken(url: string): string {
  const at = url.indexOf('?')
  if (at < 0) return url
  const rest = url
    .slice(at + 1)
    .split('&')
    .filter((part) => !/^token(=|$)/i.test(part))
  return rest.length > 0 ? `${url.slice(0, at)}?${rest.join('&')}` : url.slice(0, at)
}
