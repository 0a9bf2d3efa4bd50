import {
  type AnyRoute,
  hasPermission,
  isLevelAtLeast,
  type Level,
  levelOfRole,
  levelOfTag,
  type ObjectKind,
  operatorField,
  type Permission,
  projectScoped,
  tagsOf,
} from '@berth/contract'
import type { FastifyRequest } from 'fastify'
import { type Awaitable, thenSync } from '../platform/awaitable.ts'
import { fail } from '../platform/failure.ts'
import type { Caller, Loaders } from './handler.ts'

/** Authentication and authorization queries, implemented by the access module. */
export interface Authenticator {
  /** The caller of a request's credential; null without a valid one. */
  authenticate(request: FastifyRequest): Awaitable<Caller | null>
  /** Reads the caller again; null if the token, session or membership has ended. */
  renew(caller: Caller): Awaitable<Caller | null>
  /** The caller's level on a project from a grant; undefined without one. */
  grantedLevel(caller: Caller, projectId: string): Awaitable<Level | undefined>
  /** The highest level of all the caller's grants. */
  highestGrant(caller: Caller): Promise<Level | undefined>
  /** Whether the caller operates this instance: an owner or admin of the set-up organisation. */
  isOperator(caller: Caller): Awaitable<boolean>
}

interface GuardDeps {
  loaders: Loaders
  authenticator: Authenticator
}

/** Validated parameters and body of a call. */
export interface Named {
  params: unknown
  body?: unknown
}

/** Checks the route's permission and the kind of credential, before the body is read. */
export function checkTag(row: AnyRoute, caller: Caller, authenticator: Authenticator, params?: unknown): Awaitable<void> {
  const tag = row.permission as Permission
  if (caller.needsSecondFactor && !row.withoutSecondFactor) fail('second_factor_not_set_up')
  if (caller.scopes && !caller.scopes.has(tag) && !isAboutToken(row, params, caller)) refuseTag(tag)
  const grantsChecked = tagsOf(caller.role).has(tag) ? undefined : checkGrants(row, tag, caller, authenticator)
  return thenSync(grantsChecked, () => {
    if (caller.projectIds && !allowsProjectTokens(row)) refuseLimited()
    if (row.operator === true) return checkOperator(caller, authenticator)
  })
}

/** Calls about the token itself: `GET /auth/session`, and its own deletion. */
const isAboutToken = ({ projectTokens, on }: AnyRoute, params: unknown, { tokenId }: Caller): boolean =>
  projectTokens === 'own' && (on === undefined || (params as { id?: string } | undefined)?.id === tokenId)

/** A grant on a project can replace the role's permission; the project itself is checked once it is loaded. */
async function checkGrants(row: AnyRoute, tag: Permission, caller: Caller, authenticator: Authenticator): Promise<void> {
  if (!row.on || !projectScoped.has(row.on)) refuseTag(tag)
  const highest = await authenticator.highestGrant(caller)
  if (!highest || !isLevelAtLeast(highest, levelOfTag(tag))) refuseTag(tag)
}

export const refuseTag = (tag: Permission): never =>
  fail('forbidden', { permission: tag, message: `Permission ${tag} is required` })

/** Whether a project-limited token may call the route: routes about objects of projects, and those that allow it explicitly. */
const allowsProjectTokens = (row: AnyRoute): boolean =>
  row.projectTokens !== undefined || (row.on !== undefined && projectScoped.has(row.on))

const refuseLimited = (): never =>
  fail('forbidden', { message: 'This token is limited to specific projects and cannot be used for this' })

function checkOperator(caller: Caller, authenticator: Authenticator, field?: string): Awaitable<void> {
  return thenSync(authenticator.isOperator(caller), (isOperator) => {
    if (!isOperator)
      fail('forbidden', {
        message: 'Only an operator of the instance can do this: an owner or admin of the organisation created at set-up',
        ...(field ? { field } : {}),
      })
  })
}

/** Loads the named object and checks the caller's level on it, after validation. */
export const loadObject = (row: AnyRoute, named: Named, caller: Caller, deps: GuardDeps): Awaitable<Loaded> =>
  thenSync(loadNamed(row, named, caller, deps), (loaded) =>
    // The body of a read names no other objects, and most calls are reads.
    row.method === 'GET' ? loaded : thenSync(checkBodyNames(row, named.body, loaded.object, caller, deps), () => loaded),
  )

interface Loaded {
  object?: object
  level: Level
}

async function checkBodyNames(
  row: AnyRoute,
  body: unknown,
  object: object | undefined,
  caller: Caller,
  deps: GuardDeps,
): Promise<void> {
  if (caller.projectIds) await checkOtherObjects(row, body, object, caller, deps)
  const field = operatorField(row, body)
  if (field) await checkOperator(caller, deps.authenticator, field)
}

function loadNamed(row: AnyRoute, named: Named, caller: Caller, { loaders, authenticator }: GuardDeps): Awaitable<Loaded> {
  if (!row.on) return { level: levelOfRole[caller.role] }
  const kind = row.on as ObjectKind
  const names = namesOf(row, named)
  if (!names) return levelWithoutObject(row, caller)
  const load = loaders[kind]
  // The module of this object is not built yet.
  if (!load) return fail('not_built_yet')
  return thenSync(load(names, caller) as Awaitable<object | undefined>, (object) => {
    // A cloud project: the handler forwards the call.
    if (!object && row.here && isProjectInToken(names, caller)) return levelOnCloudProject(row, caller)
    const projectId = object && projectOf(object, kind)
    if (!object || !isAllowedByToken(row, object, projectId, caller)) return refuseUnknown(row)
    if (!projectScoped.has(kind)) return { object, level: levelOfRole[caller.role] }
    const granted = projectId ? authenticator.grantedLevel(caller, projectId) : undefined
    return thenSync(granted, (level = levelOfRole[caller.role]) => {
      checkLevel(row, level, caller)
      return { object, level }
    })
  })
}

/** Undefined when the body may name the object but does not. */
export function namesOf({ inBody }: AnyRoute, { params, body }: Named): Record<string, string> | undefined {
  if (!inBody) return params as Record<string, string>
  const id = (body as Record<string, string | null | undefined> | undefined)?.[inBody]
  return typeof id === 'string' ? { [inBody]: id } : undefined
}

/**
 * Permission for a call without a project: grants on other projects do not count, and a project-limited token may not create one.
 */
function levelWithoutObject(row: AnyRoute, caller: Caller): { level: Level } {
  const tag = row.permission as Permission
  if (!hasPermission(caller, tag)) refuseTag(tag)
  if (caller.projectIds) refuseLimited()
  return { level: levelOfRole[caller.role] }
}

/** Whether a project-limited token includes the project in the path. */
const isProjectInToken = ({ id = '' }: Record<string, string>, { projectIds }: Caller): boolean =>
  !projectIds || projectIds.has(id)

/** Permission for a cloud project: the role decides, as local grants do not apply to it. */
function levelOnCloudProject(row: AnyRoute, { role }: Caller): { level: Level } {
  const tag = row.permission as Permission
  if (!tagsOf(role).has(tag)) refuseTag(tag)
  return { level: levelOfRole[role] }
}

/** Rejects an unknown id; the error names the field if the id is in the body. */
const refuseUnknown = ({ inBody, on }: AnyRoute): never =>
  fail('not_found', inBody ? { field: inBody, message: `This ${on} does not exist` } : {})

function isAllowedByToken(
  row: AnyRoute,
  object: object,
  projectId: string | undefined,
  { projectIds, tokenId }: Caller,
): boolean {
  if (!projectIds) return true
  if (row.projectTokens === 'own') return (object as { id: string }).id === tokenId
  return projectId !== undefined && projectIds.has(projectId)
}

/**
 * Checks other objects in the body: a project-limited token may not reference objects of other projects. The object's current
 * value may be repeated.
 */
async function checkOtherObjects(
  row: AnyRoute,
  body: unknown,
  current: object | undefined,
  caller: Caller,
  { loaders }: GuardDeps,
): Promise<void> {
  for (const [field, kind] of Object.entries(row.names ?? {})) {
    const id = (body as Record<string, unknown> | undefined)?.[field]
    // A grant names a user, who belongs to no project.
    if (typeof id !== 'string' || kind === 'member' || (current as Record<string, unknown> | undefined)?.[field] === id) continue
    const object = projectScoped.has(kind) ? await loaders[kind]?.({ id, sessionId: id }, caller) : undefined
    const projectId = object && projectOf(object, kind)
    if (!projectId || !caller.projectIds?.has(projectId))
      fail('forbidden', {
        field,
        message: `${field}: this token is limited to specific projects, and this object belongs to none of them`,
      })
  }
}

/** The second permission check: the caller's level on the project, combined with the scopes of a token. */
export function checkLevel(row: AnyRoute, level: Level, { scopes }: Caller): void {
  const needed = neededLevel(row)
  const permission: Permission = `project:${needed}`
  if (!isLevelAtLeast(level, needed))
    fail('forbidden', { permission, message: `The level "${needed}" on the project is required` })
  if (scopes && isProjectRequest(row, needed) && !scopes.has(permission)) refuseTag(permission)
}

/**
 * Whether the scope of the project level is required too. A policy is changed by rights on its project; a run or restore is
 * checked by its own permission, which has no level `admin`.
 */
export const isProjectRequest = ({ on, needs, permission }: AnyRoute, needed: Level): boolean =>
  needs !== undefined && (on === 'backupPolicy' || !isLevelAtLeast(levelOfTag(permission as Permission), needed))

export const neededLevel = (row: AnyRoute): Level => {
  const tagLevel = levelOfTag(row.permission as Permission)
  return row.needs && isLevelAtLeast(row.needs, tagLevel) ? row.needs : tagLevel
}

function projectOf(object: object, kind: ObjectKind): string | undefined {
  if (kind === 'project') return (object as { id: string }).id
  return (object as { projectId?: string | null }).projectId ?? undefined
}
