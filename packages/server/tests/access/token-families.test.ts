import { permissions } from '@berth/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { call } from '../kit/call.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, makeToken, type People } from '../kit/people.ts'
import { makeProject } from '../kit/projects.ts'

let ahead = 0
const clock = { now: () => new Date(Date.now() + ahead) }
let instance: TestInstance
let people: People
let project: { id: string }
beforeAll(async () => {
  instance = await startInstance({}, { clock })
  people = await makePeople(instance)
  project = await makeProject(instance, people.owner.token)
})
afterAll(() => instance.stop())

const create = async (token: string, body: object = {}) =>
  (await call(instance, token, 'POST /tokens', { body: { name: 'x', ...body } })).body.data
const statusOf = async (token: string) => (await call(instance, token, 'GET /auth/session')).status
const revoke = (id: string) => call(instance, people.owner.token, 'DELETE /tokens/:id', { params: { id } })

describe('a token made with a token', () => {
  test('expires no later than its parent token, whatever expiry it requests', async () => {
    const parent = await create(people.owner.token, { expiresInDays: 2 })
    for (const expiresInDays of [undefined, 2, 365]) {
      const child = await create(parent.token, expiresInDays ? { expiresInDays } : {})
      expect(child.expiresAt).toBe(parent.expiresAt)
    }
    const shorter = await create(parent.token, { expiresInDays: 1 })
    expect(Date.parse(shorter.expiresAt)).toBeLessThan(Date.parse(parent.expiresAt))
    const free = await create(people.owner.token)
    expect((await create(free.token)).expiresAt).toBeNull()
  })
  test('is revoked with its parent token, and so are tokens made with the child', async () => {
    const parent = await create(people.owner.token)
    const child = await create(parent.token)
    const grandchild = await create(child.token)
    const sibling = await create(people.owner.token)
    expect(await statusOf(grandchild.token)).toBe(200)
    expect((await revoke(parent.id)).status).toBe(204)
    expect([await statusOf(child.token), await statusOf(grandchild.token), await statusOf(sibling.token)]).toEqual([
      401, 401, 200,
    ])
  })
  test('expires with its parent token', async () => {
    const parent = await create(people.owner.token, { expiresInDays: 1 })
    const grandchild = await create((await create(parent.token)).token, { expiresInDays: 365 })
    expect(await statusOf(grandchild.token)).toBe(200)
    ahead = 86_400_001
    try {
      expect(await statusOf(grandchild.token)).toBe(401)
    } finally {
      ahead = 0
    }
  })
  test('403: a token limited to projects creates no token; it can revoke only itself', async () => {
    const limited = await create(people.owner.token, { projectIds: [project.id] })
    const other = await create(people.owner.token)
    const made = await call(instance, limited.token, 'POST /tokens', { body: { name: 'x', projectIds: [project.id] } })
    expect(made.status).toBe(403)
    const remove = (id: string) => call(instance, limited.token, 'DELETE /tokens/:id', { params: { id } })
    expect((await remove(other.id)).status).toBe(404)
    expect((await remove(limited.id)).status).toBe(204)
    expect([await statusOf(limited.token), await statusOf(other.token)]).toEqual([401, 200])
  })
})

describe('with any scopes', () => {
  test.each(permissions)('with the scope %s alone, a token reads its session and can revoke only itself', async (scope) => {
    const { token } = await create(people.owner.token, { scopes: [scope] })
    const other = await create(people.owner.token)
    const { status, body } = await call(instance, token, 'GET /auth/session')
    expect([status, body.data.permissions, body.data.via]).toEqual([200, [scope], 'token'])
    const remove = (id: string) => call(instance, token, 'DELETE /tokens/:id', { params: { id } })
    expect((await remove(other.id)).status).toBe(scope === 'token:write' ? 204 : 403)
    expect((await remove(body.data.tokenId)).status).toBe(204)
    expect(await statusOf(token)).toBe(401)
  })
})

describe('streams end with their credential', () => {
  const mint = async (token: string) =>
    (await call(instance, token, 'GET /projects/:id/server-logs/stream-token', { params: { id: project.id } })).body.data.token
  const path = () => `/api/projects/${project.id}/server-logs/stream`

  test('a stream token is invalid once the token that created it is revoked', async () => {
    const [kept, revoked] = [await create(people.owner.token), await create(people.owner.token)]
    const [good, bad] = [await mint(kept.token), await mint(revoked.token)]
    await revoke(revoked.id)
    expect(await instance.access.streamTokens.spend(bad, path())).toBeNull()
    expect(await instance.access.streamTokens.spend(good, path())).toMatchObject({ tokenId: kept.id, via: 'token' })
  })
  test('a stream token has the limits of the token that created it', async () => {
    const limits = { projectIds: [project.id], scopes: ['project:read'] }
    const streamToken = await mint(await makeToken(instance, people.owner, limits))
    const caller = await instance.access.streamTokens.spend(streamToken, path())
    expect([[...(caller?.projectIds ?? [])], [...(caller?.scopes ?? [])]]).toEqual([limits.projectIds, limits.scopes])
  })
})
