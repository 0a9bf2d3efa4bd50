// gate: also on PostgreSQL, since it runs SQL that no other file of the gate runs
import { table } from '@berth/contract'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { membersOf } from '../../src/modules/access/index.ts'
import { call } from '../kit/call.ts'
import { readEvents } from '../kit/event-reader.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, makeToken, type People } from '../kit/people.ts'
import { makeProject } from '../kit/projects.ts'
import { callAs, codeOf, cookieOf, signIn, turnOnTotp } from '../kit/sessions.ts'

let ahead = 0
const now = () => Date.now() + ahead
let instance: TestInstance
let url: string
let people: People
let recoveryCodes: string[]
beforeAll(async () => {
  instance = await startInstance({}, { clock: { now: () => new Date(now()) }, streamCheckMs: 1_000_000 })
  url = await instance.app.listen({ host: '127.0.0.1', port: 0 })
})
afterAll(() => instance.stop())
beforeEach(async () => {
  ahead += 60_000
  people = await makePeople(instance)
  recoveryCodes = (await turnOnTotp(instance, people.owner, now())).recoveryCodes
})

const require = (requireTwoFactor: boolean, token = people.owner.token) =>
  call(instance, token, 'PATCH /organizations/:id', { params: { id: people.organizationId }, body: { requireTwoFactor } })
const turnOff = (code: string) => call(instance, people.owner.token, 'DELETE /auth/totp', { body: { code } })
const seen = ({ status, body }: { status: number; body: { code?: string } }) => [status, body.code]
const refused = [403, 'second_factor_not_set_up']

describe('two-factor authentication is required', () => {
  test('only by an owner or admin who has it', async () => {
    expect(seen(await require(true, people.member.token))).toEqual([403, 'forbidden'])
    expect((await require(true, people.admin.token)).body).toMatchObject({ code: 'conflict', field: 'requireTwoFactor' })
    const organization = async () =>
      (await call(instance, people.owner.token, 'GET /organizations/:id', { params: { id: people.organizationId } })).body.data
    expect((await organization()).requireTwoFactor).toBe(false)
    expect((await require(true)).body.data.requireTwoFactor).toBe(true)
    expect((await organization()).requireTwoFactor).toBe(true)
    const { data } = (await call(instance, people.owner.token, 'GET /members')).body
    expect(data.filter(({ twoFactor }: { twoFactor: boolean }) => twoFactor)).toMatchObject([{ userId: people.owner.userId }])
  })

  test('a member without it reaches nothing but its set-up, with a session or any token', async () => {
    const cookie = cookieOf(await signIn(instance, people.member))
    const limited = await makeToken(instance, people.member, { scopes: ['project:list'] })
    await require(true)
    const rows = table.map(({ row }) => row).filter(({ public: isPublic }) => !isPublic)
    const open: string[] = []
    for (const { at, path, withoutSecondFactor } of rows) {
      const names = [...path.matchAll(/:(\w+)/g)].map(([, name]) => [name as string, 'x'])
      const input = { params: Object.fromEntries(names) }
      if (withoutSecondFactor) open.push(at)
      else
        for (const answer of [
          await call(instance, people.member.token, at as 'GET /', input),
          await callAs(instance, cookie, at as 'GET /', input),
          await call(instance, limited, at as 'GET /', input),
        ])
          expect([at, ...seen(answer)]).toEqual([at, ...refused])
    }
    expect(open.sort()).toEqual([
      'DELETE /auth/sessions/:id',
      'GET /auth/session',
      'GET /auth/sessions',
      'GET /auth/totp',
      'GET /organizations',
      'POST /auth/password',
      'POST /auth/totp',
      'POST /auth/totp/confirm',
    ])
    expect((await call(instance, people.member.token, 'GET /auth/session')).body.data.needsSecondFactor).toBe(true)
    expect((await call(instance, people.owner.token, 'GET /projects')).status).toBe(200)
  })

  test('it is set up after signing in, and access continues', async () => {
    await require(true)
    const answer = await signIn(instance, people.viewer)
    expect(answer.body.data.needsSecondFactor).toBe(true)
    const cookie = cookieOf(answer)
    expect(seen(await callAs(instance, cookie, 'GET /projects'))).toEqual(refused)
    const { secret } = (await callAs(instance, cookie, 'POST /auth/totp')).body.data
    const body = { code: codeOf(secret, now()) }
    expect((await callAs(instance, cookie, 'POST /auth/totp/confirm', { body })).status).toBe(200)
    expect((await callAs(instance, cookie, 'GET /auth/session')).body.data).not.toHaveProperty('needsSecondFactor')
    for (const projects of [
      await callAs(instance, cookie, 'GET /projects'),
      await call(instance, people.viewer.token, 'GET /projects'),
    ])
      expect(projects.status).toBe(200)
  })

  test('other organisations of the user stay open, and nothing there makes them an operator', async () => {
    const { body } = await call(instance, people.admin.token, 'POST /organizations', { body: { name: 'Own' } })
    const cookie = cookieOf(await signIn(instance, people.admin))
    await require(true)
    const there = { headers: { 'x-organization-id': body.data.id } }
    expect((await callAs(instance, cookie, 'GET /projects', there)).status).toBe(200)
    expect((await callAs(instance, cookie, 'GET /auth/session', there)).body.data.operator).toBe(false)
  })

  test('open streams of members without it end, and stream tokens open none', async () => {
    const reader = await readEvents(`${url}/api/notifications/stream`, { authorization: `Bearer ${people.member.token}` })
    const stays = await readEvents(`${url}/api/notifications/stream`, { authorization: `Bearer ${people.owner.token}` })
    const { id } = await makeProject(instance, people.owner.token)
    const at = 'GET /projects/:id/server-logs/stream-token'
    const { token } = (await call(instance, people.member.token, at, { params: { id } })).body.data
    await require(true)
    await reader.ended
    expect(reader.events.at(-1)).toMatchObject({ event: 'closed' })
    expect((await fetch(`${url}/api/projects/${id}/server-logs/stream?token=${token}`)).status).toBe(401)
    expect(stays.events.at(-1)).not.toMatchObject({ event: 'closed' })
    stays.close()
  })

  test('setting it up ends the sessions that were opened with the password alone', async () => {
    await require(true)
    const stolen = cookieOf(await signIn(instance, people.member))
    const own = cookieOf(await signIn(instance, people.member))
    const { secret } = (await callAs(instance, own, 'POST /auth/totp')).body.data
    await callAs(instance, own, 'POST /auth/totp/confirm', { body: { code: codeOf(secret, now()) } })
    expect((await callAs(instance, own, 'GET /projects')).status).toBe(200)
    expect((await callAs(instance, stolen, 'GET /projects')).status).toBe(401)
  })

  test('a token cannot set it up, so a leaked one stays refused', async () => {
    await require(true)
    for (const at of ['POST /auth/totp', 'POST /auth/totp/confirm'] as const)
      expect(seen(await call(instance, people.member.token, at, { body: { code: '000000' } }))).toEqual([403, 'forbidden'])
  })

  test('a member who turns theirs off is led to the set-up again, and can replace a lost phone', async () => {
    await require(true)
    expect((await turnOff(recoveryCodes[0] as string)).status).toBe(204)
    expect(seen(await call(instance, people.owner.token, 'GET /projects'))).toEqual(refused)
    const cookie = cookieOf(await signIn(instance, people.owner))
    const { secret } = (await callAs(instance, cookie, 'POST /auth/totp')).body.data
    await callAs(instance, cookie, 'POST /auth/totp/confirm', { body: { code: codeOf(secret, now()) } })
    expect((await call(instance, people.owner.token, 'GET /projects')).status).toBe(200)
  })

  test('members without it get no notifications of the organisation', async () => {
    const reached = async () =>
      (
        await instance.database.db
          .selectFrom(membersOf(instance.database.db, people.organizationId).as('members'))
          .select('members.userId')
          .execute()
      ).map(({ userId }) => userId)
    expect(await reached()).toHaveLength(4)
    await require(true)
    expect(await reached()).toEqual([people.owner.userId])
  })

  test('members without it are named only to callers who manage members', async () => {
    const isOwner = ({ userId }: { userId: string }) => userId === people.owner.userId
    const shown = async (token: string) => (await call(instance, token, 'GET /members')).body.data.find(isOwner)
    expect(await shown(people.admin.token)).toHaveProperty('twoFactor', true)
    expect(await shown(people.viewer.token)).not.toHaveProperty('twoFactor')
  })
})
