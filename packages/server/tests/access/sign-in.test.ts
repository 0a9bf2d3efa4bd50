// gate: also on PostgreSQL, since two requests use one set-up code
import crypto from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { callsOf } from '../../../../tests/kit/count-work.ts'
import { Secret } from '../../src/platform/secrets/secret.ts'
import { call } from '../kit/call.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, makeToken, type People, password } from '../kit/people.ts'

let instance: TestInstance
let people: People
beforeAll(async () => {
  instance = await startInstance()
  people = await makePeople(instance)
})
afterAll(() => instance.stop())

const host = 'berth.test'
const origin = `http://${host}`
const login = (email: string, secret = password) =>
  call(instance, null, 'POST /auth/login', { body: { email, password: secret }, headers: { host } })
const cookieOf = (answer: Awaited<ReturnType<typeof call>>) => String(answer.headers['set-cookie']).split(';')[0] as string

describe('POST /auth/login', () => {
  test('sets a cookie that scripts cannot read and other sites do not send', async () => {
    const answer = await login(people.member.email)
    expect(answer.status).toBe(200)
    expect(answer.body.data).toMatchObject({ role: 'member', via: 'session', user: { email: people.member.email } })
    const [session, device] = answer.headers['set-cookie'] as string[]
    expect(session).toMatch(/^berth_session=\S+; Max-Age=\d+; Path=\/; HttpOnly; SameSite=Lax$/)
    expect(device).toMatch(/^berth_device=\S+; Max-Age=\d+; Path=\/; HttpOnly; SameSite=Lax$/)
    expect(JSON.stringify(answer.body)).not.toContain('scrypt')
  })
  test('an e-mail address is compared without case', async () => {
    expect((await login(people.owner.email.toUpperCase())).status).toBe(200)
  })
  test('a wrong password and an unknown user get the same answer', async () => {
    const [wrong, unknown] = [await login(people.owner.email, 'no'), await login('unknown@example.test', 'no')]
    expect(wrong.status).toBe(401)
    expect(unknown.body).toEqual(wrong.body)
  })
  test('an unknown user takes as much work as a known one', async () => {
    const admin = { email: 'slow@example.test', password, organization: 'Slow' }
    await instance.access.createAdmin(admin)
    const workFor = async (email: string) => {
      const calls = await callsOf(crypto, 'scrypt', () => login(email, 'wrong password'))
      return calls.map(([tried, , bytes, work]) => [tried, bytes, work])
    }
    const known = await workFor('slow@example.test')
    expect(known).toHaveLength(1)
    expect(await workFor('unknown@example.test')).toEqual(known)
  })
  test('429 with Retry-After: more than ten attempts a minute from one address', async () => {
    const limited = await startInstance({}, { rateLimits: {} })
    try {
      const attempt = () => call(limited, null, 'POST /auth/login', { body: { email: 'x@example.test', password: 'x' } })
      for (let count = 0; count < 10; count++) expect((await attempt()).status).toBe(401)
      const refused = await attempt()
      expect([refused.status, refused.body.code]).toEqual([429, 'rate_limited'])
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
      const forwarded = await call(limited, null, 'POST /auth/login', {
        body: { email: 'x@example.test', password: 'x' },
        headers: { 'x-forwarded-for': '198.51.100.7' },
      })
      expect(forwarded.status, 'X-Forwarded-For counts only behind a trusted proxy').toBe(429)
    } finally {
      await limited.stop()
    }
  })
})

describe('a session cookie on https', () => {
  test('has a name with the prefix __Host-, and is not accepted under another name', async () => {
    const behind = await startInstance({ BERTH_TRUSTED_PROXIES: '127.0.0.1' })
    try {
      const { owner } = await makePeople(behind)
      const https = { host, 'x-forwarded-proto': 'https' }
      const body = { email: owner.email, password }
      const answer = await call(behind, null, 'POST /auth/login', { body, headers: https })
      const [cookie = ''] = answer.headers['set-cookie'] as string[]
      expect(cookie).toMatch(/^__Host-berth_session=\S+; Max-Age=\d+; Path=\/; HttpOnly; SameSite=Lax; Secure$/)
      const value = cookieOf(answer).split('=')[1]
      const request = (name: string, headers: Record<string, string>) =>
        call(behind, null, 'GET /auth/session', { headers: { ...headers, cookie: `${name}=${value}` } })
      expect((await request('__Host-berth_session', https)).status).toBe(200)
      expect((await request('berth_session', https)).status).toBe(401)
      expect((await request('__Host-berth_session', { host })).status).toBe(401)
      const out = await call(behind, null, 'POST /auth/logout', {
        headers: { ...https, cookie: `__Host-berth_session=${value}` },
      })
      expect(String(out.headers['set-cookie'])).toMatch(/^__Host-berth_session=; Max-Age=0; .*Secure$/)
      expect((await request('__Host-berth_session', https)).status).toBe(401)
    } finally {
      await behind.stop()
    }
  })
})

describe('a session cookie', () => {
  test('can read without an Origin header', async () => {
    const cookie = cookieOf(await login(people.owner.email))
    const { status, body } = await call(instance, null, 'GET /auth/session', { headers: { cookie, host } })
    expect([status, body.data.user.email]).toEqual([200, people.owner.email])
  })
  test('403: a write without an Origin header, or with that of another site', async () => {
    const cookie = cookieOf(await login(people.owner.email))
    for (const headers of [{}, { origin: 'https://evil.test' }, { origin: 'null' }] as Record<string, string>[]) {
      const { status, body } = await call(instance, null, 'POST /tokens', {
        body: { name: 'x' },
        headers: { cookie, host, ...headers },
      })
      expect([status, body.code]).toEqual([403, 'forbidden'])
    }
    const ok = await call(instance, null, 'POST /tokens', { body: { name: 'x' }, headers: { cookie, host, origin } })
    expect(ok.status).toBe(201)
  })
  test('cannot be ended by a page of another site', async () => {
    const cookie = cookieOf(await login(people.owner.email))
    for (const origin of ['https://app.example.test', 'null', `http://evil.${host}`]) {
      const out = await call(instance, null, 'POST /auth/logout', { headers: { cookie, host, origin } })
      expect([out.status, out.headers['set-cookie']]).toEqual([403, undefined])
    }
    expect((await call(instance, null, 'GET /auth/session', { headers: { cookie, host } })).status).toBe(200)
  })
  test('ends with POST /auth/logout', async () => {
    const cookie = cookieOf(await login(people.owner.email))
    const out = await call(instance, null, 'POST /auth/logout', { headers: { cookie, host, origin } })
    expect([out.status, String(out.headers['set-cookie']).includes('Max-Age=0')]).toEqual([204, true])
    expect((await call(instance, null, 'GET /auth/session', { headers: { cookie, host } })).status).toBe(401)
  })
  test('reaches another organisation of the user with X-Organization-Id; 403 for an organisation without the user', async () => {
    const cookie = cookieOf(await login(people.admin.email))
    const headers = { cookie, host, origin }
    const made = await call(instance, null, 'POST /organizations', { body: { name: 'Second' }, headers })
    const second = made.body.data.id
    const there = await call(instance, null, 'GET /auth/session', { headers: { ...headers, 'x-organization-id': second } })
    expect([there.status, there.body.data.organization.id, there.body.data.role]).toEqual([200, second, 'owner'])
    for (const foreign of ['org_unknown', (await makePeople(instance)).organizationId]) {
      const refused = await call(instance, null, 'GET /auth/session', { headers: { ...headers, 'x-organization-id': foreign } })
      expect([refused.status, refused.body.code]).toEqual([403, 'forbidden'])
    }
  })
})

describe('a personal access token', () => {
  test('brt_ and 40 characters, shown once; only its hash is stored', async () => {
    const { status, body } = await call(instance, people.owner.token, 'POST /tokens', { body: { name: 'ci', expiresInDays: 1 } })
    expect(status).toBe(201)
    expect(body.data.token).toMatch(/^brt_[a-z2-7]{40}$/)
    const list = await call(instance, people.owner.token, 'GET /tokens')
    expect(JSON.stringify(list.body)).not.toContain(body.data.token)
    const row = await instance.database.db
      .selectFrom('tokens')
      .selectAll()
      .where('id', '=', body.data.id)
      .executeTakeFirstOrThrow()
    expect(JSON.stringify(row)).not.toContain(body.data.token.slice(4))
  })
  test('400: expiresInDays out of 1–365, an unknown scope, a scope that the caller lacks, a project of another organisation', async () => {
    for (const [field, value] of [
      ['expiresInDays', 0],
      ['expiresInDays', 366],
      ['scopes', ['project:everything']],
      ['scopes', []],
      ['scopes', ['server:write']],
      ['projectIds', ['prj_elsewhere']],
    ] as const) {
      const { status, body } = await call(instance, people.member.token, 'POST /tokens', { body: { name: 'x', [field]: value } })
      expect([status, body.field.split('.')[0]]).toEqual([400, field])
    }
  })
  test('a token with scopes cannot create a token with more scopes', async () => {
    const narrow = await makeToken(instance, people.owner, { scopes: ['token:write', 'project:read'] })
    const wider = await call(instance, narrow, 'POST /tokens', { body: { name: 'x', scopes: ['project:write'] } })
    expect([wider.status, wider.body.field]).toEqual([400, 'scopes'])
    const same = await call(instance, narrow, 'POST /tokens', { body: { name: 'x' } })
    expect(same.body.data.scopes).toEqual(['token:write', 'project:read'])
  })
  test('401: expired, revoked, malformed, unknown', async () => {
    const expired = await makeToken(instance, people.owner, { expiresAt: Date.now() - 1 })
    const created = (await call(instance, people.owner.token, 'POST /tokens', { body: { name: 'x' } })).body.data
    expect((await call(instance, created.token, 'GET /auth/session')).status).toBe(200)
    await call(instance, people.owner.token, 'DELETE /tokens/:id', { params: { id: created.id } })
    for (const token of [expired, created.token, 'brt_', 'nonsense', `brt_${'a'.repeat(40)}`])
      expect((await call(instance, token, 'GET /auth/session')).status).toBe(401)
    const basic = await call(instance, null, 'GET /auth/session', { headers: { authorization: `Basic ${people.owner.token}` } })
    expect(basic.status).toBe(401)
  })
  test('is bound to one organisation: 403 with another in X-Organization-Id', async () => {
    const other = await makePeople(instance)
    const { status } = await call(instance, people.owner.token, 'GET /auth/session', {
      headers: { 'x-organization-id': other.organizationId },
    })
    expect(status).toBe(403)
  })
  test('never grants more than its owner has at the time of use', async () => {
    const crew = await makePeople(instance)
    const invite = () =>
      call(instance, crew.admin.token, 'POST /invitations', { body: { email: 'a@example.test', role: 'viewer' } })
    expect((await invite()).status).toBe(201)
    await call(instance, crew.owner.token, 'PATCH /members/:userId', {
      params: { userId: crew.admin.userId },
      body: { role: 'viewer' },
    })
    expect((await invite()).status).toBe(403)
    await call(instance, crew.owner.token, 'DELETE /members/:userId', { params: { userId: crew.admin.userId } })
    expect((await invite()).status).toBe(401)
  })
  test('404: revoking a token of another user', async () => {
    const { id } = (await call(instance, people.owner.token, 'POST /tokens', { body: { name: 'x' } })).body.data
    expect((await call(instance, people.admin.token, 'DELETE /tokens/:id', { params: { id } })).status).toBe(404)
  })
})

describe('the first start', () => {
  test('GET /health: 503 until the first owner can sign in or be set up, then ok', async () => {
    for (const settings of [
      { adminEmail: null, adminPassword: null },
      { adminEmail: 'root@example.test', adminPassword: new Secret('long enough') },
    ]) {
      const fresh = await startInstance()
      try {
        const early = await call(fresh, null, 'GET /health')
        expect([early.status, early.body.code, early.body.data]).toEqual([503, 'starting', undefined])
        expect(Number(early.headers['retry-after'])).toBeGreaterThan(0)
        await fresh.access.prepareFirstStart(settings)
        const then = await call(fresh, null, 'GET /health')
        expect([then.status, then.body.data.status]).toEqual([200, 'ok'])
        // The dashboard explains how to become the owner while there is none.
        expect(then.body.data.setUp).toBe(settings.adminEmail ? undefined : false)
      } finally {
        await fresh.stop()
      }
    }
  })
  test('a set-up link creates the owner, once', async () => {
    const fresh = await startInstance()
    try {
      const { setupUrl } = await fresh.access.prepareFirstStart({ adminEmail: null, adminPassword: null })
      const code = new URL(setupUrl as string).searchParams.get('code') as string
      const setUp = (given: string) =>
        call(fresh, null, 'POST /auth/setup', {
          body: { code: given, email: 'me@example.test', password: 'long enough', organization: 'Mine' },
        })
      expect((await setUp('wrong')).status).toBe(404)
      const outcomes = await Promise.all([setUp(code), setUp(code)])
      expect(outcomes.map(({ status }) => status).filter((status) => status === 201)).toHaveLength(1)
      expect((await setUp(code)).body.code).toBe('already_set_up')
      expect(await fresh.access.prepareFirstStart({ adminEmail: null, adminPassword: null })).toEqual({ setupUrl: null })
      const session = await call(fresh, null, 'POST /auth/login', { body: { email: 'me@example.test', password: 'long enough' } })
      expect(session.body.data).toMatchObject({ role: 'owner', organization: { name: 'Mine' } })
    } finally {
      await fresh.stop()
    }
  })
  test('BERTH_ADMIN_EMAIL and BERTH_ADMIN_PASSWORD create the owner, at the first start only', async () => {
    const fresh = await startInstance()
    try {
      const settings = { adminEmail: 'root@example.test', adminPassword: new Secret('long enough') }
      expect(await fresh.access.prepareFirstStart(settings)).toEqual({ setupUrl: null })
      await fresh.access.prepareFirstStart({ ...settings, adminPassword: new Secret('another one') })
      const attempt = (secret: string) =>
        call(fresh, null, 'POST /auth/login', { body: { email: 'root@example.test', password: secret } })
      expect([(await attempt('long enough')).status, (await attempt('another one')).status]).toEqual([200, 401])
    } finally {
      await fresh.stop()
    }
  })
  test('berth admin create sets a new password for an existing owner', async () => {
    await instance.access.createAdmin({ email: 'lost@example.test', password: 'first one', organization: 'Lost' })
    await instance.access.createAdmin({ email: 'lost@example.test', password: 'second one', organization: 'Lost' })
    expect([
      (await login('lost@example.test', 'first one')).status,
      (await login('lost@example.test', 'second one')).status,
    ]).toEqual([401, 200])
  })
})
