import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type AnyRoute, type Method, permissions, projectScoped, table, tagsOf } from '@berth/contract'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { call } from './kit/call.ts'
import { startInstance, type TestInstance } from './kit/instance.ts'
import { makePeople, makeToken, type People } from './kit/people.ts'
import { storedIn } from './kit/stored.ts'
import { makeWorld, type World } from './kit/world.ts'

/**
 * Callers without write access call every row of the table that writes, with existing objects: each call is refused, and no row
 * of any table of the database has changed afterwards.
 */

type At = `${Method} /${string}`
const writes = table
  .map(({ row }) => ({ at: row.at as At, row: row as AnyRoute }))
  .filter(({ row }) => row.method !== 'GET' && row.permission)

let folder: string
let instance: TestInstance
let ours: People
let first: World
let second: World
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-refused-'))
  mkdirSync(join(folder, 'app'))
  instance = await startInstance({ BERTH_PROJECT_ROOTS: folder })
  ours = await makePeople(instance)
  first = await makeWorld(instance, ours)
  second = await makeWorld(instance, ours)
})
afterAll(async () => {
  await instance.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** Writes that every member may make: on the member's own objects and, as the spec says, the defaults of an organisation. */
const ofEveryMember = [
  'POST /auth/password',
  'DELETE /auth/sessions/:id',
  'POST /auth/totp',
  'POST /auth/totp/confirm',
  'DELETE /auth/totp',
  'POST /auth/passkeys/registration',
  'POST /auth/passkeys',
  'DELETE /auth/passkeys/:id',
  'POST /tokens',
  'DELETE /tokens/:id',
  'POST /projects/:id/deployment-session',
  'POST /notifications/channels',
  'PATCH /notifications/channels/:id',
  'DELETE /notifications/channels/:id',
  'POST /notifications/channels/:id/test',
  'PUT /notifications/subscriptions',
  'DELETE /notifications/subscriptions/:id',
  'PUT /notifications/defaults',
  'POST /notifications/deliveries/:id/seen',
]
const isReading = ({ permission }: AnyRoute) => /:(read|list)$/.test(permission ?? '')
const readScopes = permissions.filter((tag) => /:(read|list)$/.test(tag))

test('the writes that every member may make are the listed ones', () => {
  const held = writes.filter(({ row }) => tagsOf('viewer').has(row.permission as (typeof permissions)[number]))
  expect(held.map(({ at }) => at).toSorted()).toEqual(ofEveryMember.toSorted())
})

const callers: Record<string, { token: () => Promise<string> | string; may: (row: AnyRoute) => boolean }> = {
  'a viewer': { token: () => ours.viewer.token, may: ({ at, on }) => ofEveryMember.includes(at) && !isOfAnother(on) },
  'an owner of another organisation': { token: async () => (await makePeople(instance)).owner.token, may: ({ on }) => !on },
  'a token of an owner that only reads': { token: () => makeToken(instance, ours.owner, { scopes: readScopes }), may: isReading },
  'a token of an owner for another project': {
    token: () => makeToken(instance, ours.owner, { projectIds: [second.ids.project as string] }),
    may: ({ on, projectTokens }) => projectTokens !== undefined && !(on && projectScoped.has(on)),
  },
  'a token that has expired': { token: () => makeToken(instance, ours.owner, { expiresAt: 1 }), may: () => false },
}
/** The owner's own things, which the viewer does not see. */
const isOfAnother = (on: AnyRoute['on']) =>
  on === 'token' || on === 'session' || on === 'channel' || on === 'subscription' || on === 'delivery'

test.each(Object.entries(callers))('%s changes nothing', async (_, { token, may }) => {
  const requests = await token()
  const before = await storedIn(instance)
  const refused = writes.filter(({ row }) => !may(row))
  const answered: string[] = []
  for (const { at, row } of refused) {
    const { status } = await call(instance, requests, at, first.inputFor(row))
    if (![401, 403, 404].includes(status)) answered.push(`${at}: ${status}`)
  }
  expect(answered).toEqual([])
  expect(await storedIn(instance)).toEqual(before)
  expect(refused.length).toBeGreaterThan(30)
})
