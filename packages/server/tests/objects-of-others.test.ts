// gate: also on PostgreSQL, since it loads every kind of object
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type AnyRoute,
  isLevelAtLeast,
  levelOfTag,
  type Method,
  type ObjectKind,
  type Permission,
  projectScoped,
  table,
} from '@berth/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Caller } from '../src/http/handler.ts'
import { type Answer, call } from './kit/call.ts'
import { startInstance, type TestInstance } from './kit/instance.ts'
import { makePeople, makeToken } from './kit/people.ts'
import { makeWorld, type World } from './kit/world.ts'

/**
 * Checks for each row of the table that objects of other owners are not reachable, with objects that really exist. `theirs` belongs
 * to another organisation; `second` is another project of the same one.
 */

type At = `${Method} /${string}`
interface Location {
  at: At
  row: AnyRoute
}
const locations: Location[] = table.flatMap(({ row }) => [row.at, ...(row.alsoAt ?? [])].map((at) => ({ at: at as At, row })))
const guarded = locations.filter(({ row }) => row.permission)
const naming = guarded.filter(({ row }) => row.on)
const inProjects = naming.filter(({ row }) => projectScoped.has(row.on))

let folder: string
let instance: TestInstance
let theirs: World
let first: World
let second: World
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-others-'))
  mkdirSync(join(folder, 'app'))
  instance = await startInstance({ BERTH_PROJECT_ROOTS: folder })
  const ours = await makePeople(instance)
  theirs = await makeWorld(instance, await makePeople(instance))
  first = await makeWorld(instance, ours)
  second = await makeWorld(instance, ours)
})
afterAll(async () => {
  await instance.stop()
  rmSync(folder, { recursive: true, force: true })
})

const isBuilt = (row: AnyRoute) => instance.loaders[row.on as ObjectKind] !== undefined
const seen = ({ status, body }: Answer) => ({ status, code: body.code })
const notFound = { status: 404, code: 'not_found' }
const notBuilt = { status: 501, code: 'not_built_yet' }

/** Calls a row with a world's objects and checks that the named object is unchanged. */
async function requestFor(world: World, token: string, { at, row }: Location): Promise<Answer> {
  const kind = row.on as ObjectKind
  const before = isBuilt(row) ? await world.stored(kind) : undefined
  const answer = await call(instance, token, at, world.inputFor(row))
  if (isBuilt(row)) expect(await world.stored(kind)).toEqual(before)
  return answer
}

test('each kind of object that a module loads exists in both test worlds, and its own users can read it', async () => {
  for (const world of [theirs, first, second])
    for (const [kind, load] of Object.entries(instance.loaders)) {
      const row = naming.find((location) => location.row.on === kind && !location.row.inBody)?.row as AnyRoute
      const { owner } = world.people
      const found = await load(world.inputFor(row).params ?? {}, {
        ...owner,
        role: 'owner',
        projectIds: null,
      } as unknown as Caller)
      expect(found, `a ${kind} in tests/kit/world.ts`).toMatchObject({})
      expect(await world.stored(kind as ObjectKind), `its row in tests/kit/world.ts`).toBeDefined()
    }
})

describe('an object of another organisation', () => {
  test.each(naming)('404: $at', async (location) => {
    const answer = await requestFor(theirs, first.people.owner.token, location)
    expect(seen(answer)).toEqual(isBuilt(location.row) ? notFound : notBuilt)
  })

  const fields = locations.flatMap(({ at, row }) =>
    Object.entries(row.names ?? {}).map(([field, kind]) => ({ at, row, field, kind })),
  )
  test.each(fields)('the same response as for an unknown id: $field in $at', async ({ at, row, field, kind }) => {
    const isBody = row.body?.properties?.[field] !== undefined
    const isList = (isBody ? row.body : row.query).properties[field].type === undefined && field.endsWith('Ids')
    const input = first.inputFor(row)
    const request = async (id: string) => {
      const named = { ...(row.operator === true ? { path: join(folder, 'app') } : {}), [field]: isList ? [id] : id }
      const more = isBody ? { body: { ...(input.body as object), ...named } } : { query: { [field]: id } }
      const { status, body } = await call(instance, first.people.owner.token, at, { ...input, ...more })
      return { status, body: JSON.parse(JSON.stringify(body).replaceAll(id, '<id>')) }
    }
    const real = theirs.ids[kind as ObjectKind] ?? 'of_a_kind_not_built_yet'
    const answer = await request(real)
    expect(answer).toEqual(await request(`${real.slice(0, 4)}${'2'.repeat(20)}`))
    if (isBody && answer.status !== 501) expect([[400, 404].includes(answer.status), answer.body.field]).toEqual([true, field])
    if (!isBody && answer.status !== 501) expect(answer).toEqual({ status: 200, body: { data: [], nextCursor: null } })
  })
})

describe('with a token limited to the first project', () => {
  let limited: string
  beforeAll(async () => {
    limited = await makeToken(instance, first.people.owner, { projectIds: [first.ids.project as string] })
  })
  const isOpen = ({ row }: Location) => row.projectTokens || (row.on && projectScoped.has(row.on))

  test.each(guarded.filter((location) => !isOpen(location)))('403: $at', async (location) => {
    expect(seen(await requestFor(first, limited, location))).toEqual({ status: 403, code: 'forbidden' })
  })
  test.each(naming.filter(isOpen))(
    '404 for an object of the second project or of another organisation: $at',
    async (location) => {
      for (const world of [second, theirs]) {
        const answer = await requestFor(world, limited, location)
        expect(seen(answer)).toEqual(isBuilt(location.row) ? notFound : notBuilt)
      }
    },
  )
  test.each(inProjects.filter(({ row }) => row.inBody))('403 where the body names no project: $at', async ({ at, row }) => {
    const input = first.inputFor(row)
    const { [row.inBody as string]: _, ...body } = input.body as Record<string, unknown>
    const { status } = await call(instance, limited, at, { ...input, body })
    expect(status).toBe(row.body.required?.includes(row.inBody) ? 400 : 403)
  })
  test.each(inProjects.filter(({ row }) => row.method === 'GET' && !row.stream))('reads its own: $at', async ({ at, row }) => {
    const { status } = await call(instance, limited, at, first.inputFor(row))
    expect([401, 403]).not.toContain(status)
    if (isBuilt(row) && !row.errors?.includes('not_found')) expect(status).not.toBe(404)
  })
  test.each(guarded.filter(({ row }) => row.projectTokens === 'filtered' && !row.on && !row.stream))(
    'nothing of the second project: $at',
    async ({ at, row }) => {
      const request = (token: string) => call(instance, token, at, first.inputFor(row))
      const [all, own] = [await request(first.people.owner.token), await request(limited)]
      expect([all.status, own.status]).toEqual([200, 200])
      for (const id of Object.values(second.ids).filter((id) => !Object.values(first.ids).includes(id)))
        expect(JSON.stringify(own.body)).not.toContain(id)
      if (row.returns.properties.nextCursor && row.at !== 'GET /projects/local')
        expect([all.body.data.length, own.body.data.length]).toEqual([2, 1])
    },
  )

  const bringing = inProjects.flatMap(({ at, row }) =>
    Object.entries(row.names ?? {})
      .filter(([field, kind]) => row.body?.properties?.[field] && kind !== 'member')
      .map(([field, kind]) => ({ at, row, field, kind: kind as ObjectKind })),
  )
  test.each(bringing)('403: the $kind of the second project as $field of $at', async ({ at, row, field, kind }) => {
    const input = first.inputFor(row)
    const body = { ...(input.body as object), [field]: second.ids[kind] ?? 'of_a_kind_not_built_yet' }
    const { status, body: answer } = await call(instance, limited, at, { ...input, body })
    expect([status, answer.field ?? answer.code]).toEqual(isBuilt(row) ? [403, field] : [501, 'not_built_yet'])
  })
})

describe('the second check includes the scopes of the token', () => {
  const beyondTag = inProjects.filter(
    ({ row }) => row.needs && (row.on === 'backupPolicy' || !isLevelAtLeast(levelOfTag(row.permission as Permission), row.needs)),
  )
  test('rows that require more than their tag', () => expect(beyondTag.length).toBeGreaterThan(4))

  test.each(beyondTag)('403 with only the tag of the row: $at', async (location) => {
    const token = await makeToken(instance, first.people.owner, { scopes: [location.row.permission as string] })
    const { status, body } = await requestFor(first, token, location)
    expect([status, body.permission]).toEqual([403, `project:${location.row.needs}`])
  })
  test.each(beyondTag.filter(({ row }) => row.needs === 'admin'))(
    '403 names the level that a member lacks: $at',
    async (location) => {
      const { status, body } = await requestFor(first, first.people.member.token, location)
      expect([status, body.permission]).toEqual([403, 'project:admin'])
    },
  )
})

describe('a grant on one project gives no access to another', () => {
  const levelOf = (row: AnyRoute) => {
    const ofTag = levelOfTag(row.permission as Permission)
    return row.needs && isLevelAtLeast(row.needs, ofTag) ? row.needs : ofTag
  }
  const writing = inProjects.filter(({ row }) => levelOf(row) !== 'read')
  let raised: string
  let lowered: string
  beforeAll(async () => {
    const { owner, viewer, member } = first.people
    const grant = (world: World, userId: string, level: string) =>
      call(instance, owner.token, 'PUT /projects/:id/grants', {
        params: { id: world.ids.project as string },
        body: { userId, level },
      })
    expect((await grant(first, viewer.userId, 'admin')).status).toBe(200)
    expect((await grant(second, member.userId, 'read')).status).toBe(200)
    raised = viewer.token
    lowered = member.token
  })

  test.each(writing)(
    '403: a viewer who is admin of the first project, and a member with read access to the second: $at',
    async (location) => {
      for (const token of [raised, lowered]) {
        const answer = await requestFor(second, token, location)
        expect(seen(answer)).toEqual(
          isBuilt(location.row) || answer.status === 403 ? { status: 403, code: 'forbidden' } : notBuilt,
        )
      }
    },
  )
  test('403: a viewer who is admin of one project cannot create another', async () => {
    for (const at of ['POST /projects/ensure', 'POST /projects/folder/session'] as const) {
      const { status, body } = await call(instance, raised, at, { body: { name: 'New' } })
      expect([status, body.permission]).toEqual([403, 'project:write'])
    }
  })
  test('a viewer with write access to a project can deploy it', async () => {
    const { status } = await call(instance, raised, 'POST /deployments/build/access', {
      body: { projectId: first.ids.project as string },
    })
    expect(status).toBe(202)
  })
})
