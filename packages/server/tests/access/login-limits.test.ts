// gate: also on PostgreSQL, since attempts at the same time are counted
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { call } from '../kit/call.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, type People, password } from '../kit/people.ts'

/** Limits as in production, except those a test is not about; attempts come from the address that the proxy reports. */
let ahead = 0
const clock = { now: () => new Date(Date.now() + ahead) }
let instance: TestInstance
let people: People
const start = async (rateLimits: object) => {
  instance = await startInstance({ BERTH_TRUSTED_PROXIES: '127.0.0.1' }, { rateLimits, clock })
  people = await makePeople(instance)
}
beforeEach(() => {
  ahead = 0
})
afterEach(() => instance.stop())

const attempt = (from: string, email: string, secret: string, cookie?: string) =>
  call(instance, null, 'POST /auth/login', {
    body: { email, password: secret },
    headers: { 'x-forwarded-for': from, ...(cookie ? { cookie } : {}) },
  })
const statuses = async (count: number, one: (at: number) => Promise<{ status: number }>) => {
  const seen: number[] = []
  for (let at = 0; at < count; at++) seen.push((await one(at)).status)
  return seen
}

describe('limited by address', () => {
  beforeEach(() => start({ login: 2, account: 1e6 }))

  test('attempts of an IPv6 client are counted for its /64; the next /64 has its own count', async () => {
    const from = (at: number) => `2001:db8:1:2:${at.toString(16)}::${at + 1}`
    expect(await statuses(3, (at) => attempt(from(at), people.owner.email, 'no'))).toEqual([401, 401, 429])
    expect((await attempt('2001:db8:1:3::1', people.owner.email, 'no')).status).toBe(401)
  })
  test('an IPv4-mapped IPv6 address counts as its IPv4 address, and each address has its own count', async () => {
    const spellings = ['198.51.100.7', '::ffff:198.51.100.7', '::ffff:c633:6407']
    expect(await statuses(3, (at) => attempt(spellings[at] as string, people.owner.email, 'no'))).toEqual([401, 401, 429])
    expect((await attempt('::ffff:198.51.100.8', people.owner.email, 'no')).status).toBe(401)
  })
})

describe('limited by account', () => {
  beforeEach(() => start({ login: 1e6, account: 2 }))
  const anywhere = (at: number) => `203.0.113.${at}`
  const guess = (email: string) => statuses(3, (at) => attempt(anywhere(at), email, `guess ${at}`))

  test('guesses from many addresses are counted together, for known and unknown accounts, in upper or lower case', async () => {
    const { email } = people.owner
    const mixed = [email, email.toUpperCase(), email]
    expect(await statuses(3, (at) => attempt(anywhere(at), mixed[at] as string, 'no'))).toEqual([401, 401, 429])
    expect(await guess('unknown@example.test')).toEqual([401, 401, 429])
    expect((await attempt(anywhere(9), people.admin.email, password)).status, 'another account').toBe(200)
  })
  test('concurrent guesses are counted before they are checked', async () => {
    const all = await Promise.all([...Array(8).keys()].map((at) => attempt(anywhere(at), people.owner.email, 'no')))
    expect(all.filter(({ status }) => status === 401)).toHaveLength(2)
  })
  test('the right password does not count, and the count expires after a minute', async () => {
    const { email } = people.owner
    expect(await statuses(3, (at) => attempt(anywhere(at), email, password))).toEqual([200, 200, 200])
    expect(await guess(email)).toEqual([401, 401, 429])
    ahead += 61_000
    expect((await attempt(anywhere(1), email, password)).status).toBe(200)
  })
  test('a browser that has signed in before has its own count and is not locked out by others', async () => {
    const { email } = people.owner
    const cookies = (await attempt(anywhere(1), email, password)).headers['set-cookie'] as string[]
    const device = cookies[1]?.split(';')[0] as string
    expect(await guess(email)).toEqual([401, 401, 429])
    expect((await attempt(anywhere(1), email, password)).status).toBe(429)
    expect((await attempt(anywhere(1), email, password, device)).status).toBe(200)
    expect(await statuses(3, () => attempt(anywhere(1), email, 'no', device))).toEqual([401, 401, 429])
    expect((await attempt(anywhere(1), email, 'no', `${device}.x`)).status, 'altered').toBe(429)
    expect((await attempt(anywhere(1), email, 'no', `${device}; a=b`)).status, 'the same one').toBe(429)
  })
  test('a known device of one account has no effect for another account', async () => {
    const cookies = (await attempt(anywhere(1), people.viewer.email, password)).headers['set-cookie'] as string[]
    expect(await guess(people.owner.email)).toEqual([401, 401, 429])
    const refused = await attempt(anywhere(1), people.owner.email, password, cookies[1]?.split(';')[0])
    expect([refused.status, Number(refused.headers['retry-after']) > 0]).toEqual([429, true])
  })
  test('accepting an invitation counts towards the login limit of an existing user', async () => {
    const victim = (await makePeople(instance)).owner.email
    const accept = async (at: number) => {
      const { body } = await call(instance, people.owner.token, 'POST /invitations', { body: { email: victim, role: 'viewer' } })
      return call(instance, null, 'POST /invitations/accept', {
        body: { code: body.data.code, email: victim, password: `guess number ${at}` },
      })
    }
    expect(await statuses(3, accept)).toEqual([401, 401, 429])
  })
})
