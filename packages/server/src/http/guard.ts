import {
  type AnyRoute,
  type Level,
  levelOfRole,
  levelOfTag,
  type ObjectKind,
  type Permission,
  projectScoped,
  reaches,
  tagsOf,
} from '@berth/contract'
import type { FastifyRequest } from 'fastify'
import type { Awaitable } from '../awaitable.ts'
import { fail } from '../failure.ts'
import type { Caller, Loaders } from './handler.ts'

/** What the guard asks of the access module. */
export interface Gatekeeper {
  /** The caller behind a request's credential; null when there is none that is good. */
  authenticate(request: FastifyRequest): Awaitable<Caller | null>
  /** The same one as they are by now; null when what they came with has ended. */
  again(caller: Caller): Promise<Caller | null>
  /** The caller's own level on a project where a grant says so, else undefined. */
  grantedLevel(caller: Caller, projectId: string): Awaitable<Level | undefined>
  /** The highest level that any grant gives the caller. */
  highestGrant(caller: Caller): Promise<Level | undefined>
}

/** Before anything of the body is read: does the caller hold the row's tag? */
export function checkTag(row: AnyRoute, caller: Caller, gatekeeper: Gatekeeper): Awaitable<void> {
  const tag = row.permission as Permission
  if (caller.scopes && !caller.scopes.has(tag)) refuseTag(tag)
  if (!tagsOf(caller.role).has(tag)) return checkGrants(row, tag, caller, gatekeeper)
}

/** A grant on one project can stand in for the role; which project is judged once it is loaded. */
async function checkGrants(row: AnyRoute, tag: Permission, caller: Caller, gatekeeper: Gatekeeper): Promise<void> {
  if (!row.on || !projectScoped.has(row.on)) refuseTag(tag)
  const highest = await gatekeeper.highestGrant(caller)
  if (!highest || !reaches(highest, levelOfTag(tag))) refuseTag(tag)
}

const refuseTag = (tag: Permission): never => fail('forbidden', { permission: tag, words: `This needs the permission ${tag}` })

/** After the shape was checked: loads what the path names and judges the caller's level on it. */
export async function loadObject(
  row: AnyRoute,
  params: Record<string, string>,
  caller: Caller,
  { loaders, gatekeeper }: { loaders: Loaders; gatekeeper: Gatekeeper },
): Promise<{ object: object; level: Level }> {
  const kind = row.on as ObjectKind
  const load = loaders[kind]
  // The module that would load it is not built yet.
  if (!load) return fail('not_built_yet')
  const object = await load(params, caller)
  if (!object) fail('not_found')
  const projectId = projectOf(kind, object)
  if (projectId && caller.projectIds && !caller.projectIds.has(projectId)) fail('not_found')
  const level = (projectId ? await gatekeeper.grantedLevel(caller, projectId) : undefined) ?? levelOfRole[caller.role]
  const needed = neededLevel(row)
  if (projectScoped.has(kind) && !reaches(level, needed))
    fail('forbidden', { permission: row.permission, words: `This needs ${needed} on the project` })
  return { object, level }
}

const neededLevel = (row: AnyRoute): Level => {
  const ofTag = levelOfTag(row.permission as Permission)
  return row.needs && reaches(row.needs, ofTag) ? row.needs : ofTag
}

function projectOf(kind: ObjectKind, object: object): string | undefined {
  if (!projectScoped.has(kind)) return undefined
  return kind === 'project' ? (object as { id: string }).id : (object as { projectId: string }).projectId
}
