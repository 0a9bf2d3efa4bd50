// gate: also on PostgreSQL, since a password changes while its owner signs in
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { call } from '../kit/call.ts'
import { readEvents } from '../kit/event-reader.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, makeToken, type People, type Person, password } from '../kit/people.ts'
import { callAs, cookieOf, signIn } from '../kit/sessions.ts'

let instance: TestInstance
let people: People
beforeAll(async () => {
  // Longer than any test: a signal must end the streams, not the next periodic check.
  instance = await startInstance({ BERTH_TRUSTED_PROXIES: '127.0.0.1' }, { streamCheckMs: 1_000_000 })
})
afterAll(() => instance.stop())

const newPassword = 'another horse battery'
const newPeople = async () => {
  people = await makePeople(instance)
  return people
}
const open = async (person: Person, headers: Record<string, string> = {}) => cookieOf(await signIn(instance, person, { headers }))
const statusOf = async (cookie: string) => (await callAs(instance, cookie, 'GET /auth/session')).status
const listOf = async (cookie: string) => (await callAs(instance, cookie, 'GET /auth/sessions')).body
const change = (cookie: string, body: object = {}) =>
  callAs(instance, cookie, 'POST /auth/password', { body: { currentPassword: password, password: newPassword, ...body } })

describe('GET /auth/sessions', () => {
  test('lists the caller’s sessions, newest first, with the client of each', async () => {
    const { member } = await newPeople()
    const first = await open(member, { 'user-agent': 'Firefox \u009b31m', 'x-forwarded-for': '198.51.100.7' })
    const second = await open(member, { 'user-agent': 'x'.repeat(5000) })
    await open(people.admin)
    const { data, nextCursor } = await listOf(first)
    expect(nextCursor).toBeNull()
    expect(data).toHaveLength(2)
    expect(data.map(({ current }: { current: boolean }) => current).toSorted()).toEqual([false, true])
    const [current] = data.filter((one: { current: boolean }) => one.current)
    expect(current).toEqual({
      id: expect.stringMatching(/^ses_/),
      current: true,
      ip: '198.51.100.7',
      userAgent: 'Firefox ?31m',
      createdAt: expect.any(String),
      lastUsedAt: expect.any(String),
      expiresAt: expect.any(String),
    })
    const [other] = (await listOf(second)).data.filter((one: { current: boolean }) => one.current)
    expect(other.userAgent).toHaveLength(300)
    const firstPage = await callAs(instance, first, 'GET /auth/sessions', { query: { limit: 1 } })
    expect([firstPage.body.data.length, firstPage.body.nextCursor]).toEqual([1, expect.any(String)])
    const byToken = (await call(instance, member.token, 'GET /auth/sessions')).body.data
    expect(byToken.map((one: { current: boolean }) => one.current)).toEqual([false, false])
  })
})

describe('DELETE /auth/sessions/:id', () => {
  test('ends one session; the session of another user is 404 and stays valid', async () => {
    const { member, owner } = await newPeople()
    const [mine, lost, theirs] = [await open(member), await open(member), await open(owner)]
    const currentId = async (cookie: string) =>
      (await listOf(cookie)).data.find(({ current }: { current: boolean }) => current).id as string
    const end = (cookie: string, id: string) => callAs(instance, cookie, 'DELETE /auth/sessions/:id', { params: { id } })
    const [lostId, theirId] = [await currentId(lost), await currentId(theirs)]
    expect((await end(mine, theirId)).status).toBe(404)
    expect((await end(theirs, lostId)).status, 'an owner of the same organisation').toBe(404)
    expect(await Promise.all([mine, lost, theirs].map(statusOf))).toEqual([200, 200, 200])
    expect((await end(mine, lostId)).status).toBe(204)
    expect((await end(mine, lostId)).status).toBe(404)
    expect(await Promise.all([mine, lost, theirs].map(statusOf))).toEqual([200, 401, 200])
  })

  test('403 without a matching Origin', async () => {
    const { member } = await newPeople()
    const cookie = await open(member)
    const [{ id }] = (await listOf(cookie)).data
    for (const origin of ['https://evil.test', 'null'])
      for (const [at, input] of [
        ['DELETE /auth/sessions/:id', { params: { id } }],
        ['POST /auth/password', { body: { currentPassword: password, password: newPassword } }],
        ['POST /auth/totp', {}],
      ] as const)
        expect((await callAs(instance, cookie, at, { ...input, headers: { origin } })).status).toBe(403)
    expect(await statusOf(cookie)).toBe(200)
  })
})

describe('POST /auth/password', () => {
  test('changes the password and ends the other sessions; tokens stay', async () => {
    const { member } = await newPeople()
    const [mine, other] = [await open(member), await open(member)]
    const { status, body } = await change(mine)
    expect([status, body]).toEqual([200, { data: { endedSessions: 1, revokedTokens: 0 } }])
    expect([await statusOf(mine), await statusOf(other)]).toEqual([200, 401])
    expect((await signIn(instance, member)).status).toBe(401)
    expect((await signIn(instance, member, { password: newPassword })).status).toBe(200)
    expect((await call(instance, member.token, 'GET /auth/session')).status).toBe(200)
  })

  test('revokes the tokens of every organisation if requested', async () => {
    const { member } = await newPeople()
    const mine = await open(member)
    await makeToken(instance, member)
    expect((await change(mine, { revokeTokens: true })).body.data).toEqual({ endedSessions: 0, revokedTokens: 2 })
    expect((await call(instance, member.token, 'GET /auth/session')).status).toBe(401)
  })

  test('401 names the field of a wrong current password; nothing changes', async () => {
    const { member } = await newPeople()
    const [mine, other] = [await open(member), await open(member)]
    const { status, body } = await change(mine, { currentPassword: 'no' })
    expect([status, body.code, body.field]).toEqual([401, 'unauthorized', 'currentPassword'])
    expect((await change(mine, { password: 'short' })).body.field).toBe('password')
    expect(await statusOf(other)).toBe(200)
    expect((await signIn(instance, member)).status).toBe(200)
  })

  test('the audit log records the change without any password', async () => {
    const { owner } = await newPeople()
    await change(await open(owner))
    const { body } = await call(instance, owner.token, 'GET /audit-log', { query: { action: 'POST /auth/password' } })
    expect(body.data).toMatchObject([{ objectKind: 'user', objectId: owner.userId, userId: owner.userId }])
    expect(body.data[0].changes).toEqual({ currentPassword: '[secret]', password: '[secret]' })
  })

  test('wrong current passwords count towards the login limit', async () => {
    const limited = await startInstance({}, { rateLimits: {} })
    try {
      const { member } = await makePeople(limited)
      const cookie = cookieOf(await signIn(limited, member))
      const attempt = () =>
        callAs(limited, cookie, 'POST /auth/password', { body: { currentPassword: 'no', password: newPassword } })
      const statuses: number[] = []
      for (let count = 0; count < 11; count++) statuses.push((await attempt()).status)
      expect([statuses.filter((status) => status === 401).length, statuses.at(-1)]).toEqual([9, 429])
      expect((await signIn(limited, member)).status, 'the same count').toBe(429)
    } finally {
      await limited.stop()
    }
  })

  test('a concurrent sign-in with the old password has no session afterwards', async () => {
    const { member } = await newPeople()
    const mine = await open(member)
    const [, ...answers] = await Promise.all([change(mine), ...Array.from({ length: 4 }, () => signIn(instance, member))])
    const left = (await listOf(mine)).data
    expect(left.filter(({ current }: { current: boolean }) => !current)).toEqual([])
    for (const answer of answers) if (answer.status === 200) expect(await statusOf(cookieOf(answer))).toBe(401)
  })

  test('open streams of the other sessions end at once, in other organisations too', async () => {
    const { owner } = await newPeople()
    const url = await instance.app.listen({ host: '127.0.0.1', port: 0 })
    const made = await call(instance, owner.token, 'POST /organizations', { body: { name: 'Second' } })
    const [mine, other] = [await open(owner), await open(owner)]
    const read = (cookie: string, headers: Record<string, string> = {}) =>
      readEvents(`${url}/api/notifications/stream`, { cookie, ...headers })
    const inSecond = { 'x-organization-id': made.body.data.id as string }
    const [ends, endsInSecond, stays] = [await read(other), await read(other, inSecond), await read(mine)]
    expect([ends.status, endsInSecond.status, stays.status]).toEqual([200, 200, 200])
    await change(mine)
    for (const reader of [ends, endsInSecond]) {
      await reader.ended
      expect(reader.events.at(-1)).toMatchObject({ event: 'closed', data: { code: 'unauthorized' } })
    }
    expect(stays.events.filter(({ event }) => event === 'closed')).toEqual([])
    stays.close()
  })
})
