// gate: also on PostgreSQL, since one code is used by two requests at once
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { sealedColumns } from '../../src/platform/db/sealed-columns.ts'
import { call } from '../kit/call.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, makeToken, type People, password } from '../kit/people.ts'
import { callAs, codeOf, cookieOf, signIn, turnOnTotp } from '../kit/sessions.ts'
import { storedIn } from '../kit/stored.ts'

let ahead = 0
const now = () => Date.now() + ahead
const clock = { now: () => new Date(now()) }
let instance: TestInstance
let people: People
beforeAll(async () => {
  instance = await startInstance({}, { clock })
})
afterAll(() => instance.stop())
beforeEach(async () => {
  people = await makePeople(instance)
})

const seen = ({ status, body }: { status: number; body: { code?: string } }) => [status, body.code]
const statusOf = async (answer: ReturnType<typeof signIn>) => (await answer).status
const turnOn = () => turnOnTotp(instance, people.member, now())
const turnOff = (code: string) => call(instance, people.member.token, 'DELETE /auth/totp', { body: { code } })
const status = async () => (await call(instance, people.member.token, 'GET /auth/totp')).body.data
const wrongCode = (secret: string) => String((Number(codeOf(secret, now())) + 1) % 1_000_000).padStart(6, '0')

describe('set-up', () => {
  test('a new secret is not required at sign-in until a code was confirmed', async () => {
    const cookie = cookieOf(await signIn(instance, people.member))
    const { status: answered, body } = await callAs(instance, cookie, 'POST /auth/totp')
    expect([answered, body.data.secret]).toEqual([200, expect.stringMatching(/^[A-Z2-7]{32}$/)])
    expect(body.data.uri).toContain(`${encodeURIComponent(people.member.email)}?secret=${body.data.secret}&`)
    expect((await signIn(instance, people.member)).status).toBe(200)
    expect(await status()).toEqual({ enabled: false, enabledAt: null, recoveryCodesLeft: 0 })
    const confirm = (code: string) => callAs(instance, cookie, 'POST /auth/totp/confirm', { body: { code } })
    expect(seen(await confirm(wrongCode(body.data.secret)))).toEqual([401, 'unauthorized'])
    const confirmed = await confirm(codeOf(body.data.secret, now()))
    expect(confirmed.status).toBe(200)
    expect(new Set(confirmed.body.data.recoveryCodes).size).toBe(10)
    expect(await status()).toEqual({ enabled: true, enabledAt: expect.any(String), recoveryCodesLeft: 10 })
    expect(seen(await confirm(codeOf(body.data.secret, now())))).toEqual([409, 'conflict'])
    expect(seen(await callAs(instance, cookie, 'POST /auth/totp'))).toEqual([409, 'conflict'])
    expect((await callAs(instance, cookie, 'GET /auth/session')).status, 'sessions stay').toBe(200)
  })

  test('a second set-up replaces the secret of the first', async () => {
    const begin = async () => (await call(instance, people.member.token, 'POST /auth/totp')).body.data.secret as string
    const [first, second] = [await begin(), await begin()]
    const confirm = (secret: string) =>
      call(instance, people.member.token, 'POST /auth/totp/confirm', { body: { code: codeOf(secret, now()) } })
    expect((await confirm(first)).status).toBe(401)
    expect((await confirm(second)).status).toBe(200)
  })

  test('409: confirming without a set-up, and turning off an inactive second factor', async () => {
    const body = { code: '000000' }
    expect(seen(await call(instance, people.member.token, 'POST /auth/totp/confirm', { body }))).toEqual([409, 'conflict'])
    expect(seen(await turnOff('000000'))).toEqual([409, 'conflict'])
  })

  test('a token limited to scopes or to a project cannot set it up', async () => {
    for (const limits of [{ scopes: ['token:write'] }, { projectIds: ['prj_x'] }])
      expect(seen(await call(instance, await makeToken(instance, people.member, limits), 'POST /auth/totp'))).toEqual([
        403,
        'forbidden',
      ])
  })

  test('the database contains neither the secret nor a recovery code in plain text, and the audit log no code', async () => {
    const { secret, recoveryCodes } = await turnOn()
    await signIn(instance, people.member, { code: recoveryCodes[0] as string })
    const stored = (await storedIn(instance)).join()
    const { body } = await call(instance, people.owner.token, 'GET /audit-log')
    const texts = [secret, ...recoveryCodes, ...recoveryCodes.map((code) => code.replaceAll('-', ''))]
    for (const text of texts) expect([stored.includes(text), JSON.stringify(body).includes(text)]).toEqual([false, false])
    expect(body.data.map(({ action }: { action: string }) => action).slice(0, 3)).toEqual([
      'POST /auth/login',
      'POST /auth/totp/confirm',
      'POST /auth/totp',
    ])
    expect(body.data[0].changes).toEqual({ email: people.member.email, secondFactor: 'recovery code' })
    const sealed = sealedColumns.find(({ name }) => name === 'totpFactors.secret')
    expect((await sealed?.read(instance.database.db))?.length).toBeGreaterThan(0)
  })
})

describe('signing in with two-factor authentication', () => {
  test('401 second_factor_required without a code, only after the right password', async () => {
    await turnOn()
    const answer = await signIn(instance, people.member)
    expect(seen(answer)).toEqual([401, 'second_factor_required'])
    expect(answer.headers['set-cookie']).toBeUndefined()
    expect(seen(await signIn(instance, people.member, { password: 'no' }))).toEqual([401, 'unauthorized'])
    expect(seen(await signIn(instance, people.member, { password: 'no', code: '000000' }))).toEqual([401, 'unauthorized'])
  })

  test('a code of the current, previous or next step signs in, only once', async () => {
    const { secret } = await turnOn()
    const at = now()
    const attempt = (steps: number) => statusOf(signIn(instance, people.member, { code: codeOf(secret, at, steps) }))
    expect(await attempt(-3)).toBe(401)
    expect(await attempt(3)).toBe(401)
    expect(await attempt(0)).toBe(200)
    expect(await attempt(0), 'used').toBe(401)
    expect(await attempt(-1), 'older than the used one').toBe(401)
    expect(await attempt(1)).toBe(200)
    expect(await attempt(1)).toBe(401)
    ahead += 60_000
    const spaced = codeOf(secret, now()).replace(/^.../, '$& ')
    expect((await signIn(instance, people.member, { code: spaced })).status, 'as apps show it').toBe(200)
  })

  test('the same code in two concurrent requests signs in once', async () => {
    const { secret } = await turnOn()
    const code = codeOf(secret, now())
    const answers = await Promise.all(Array.from({ length: 6 }, () => statusOf(signIn(instance, people.member, { code }))))
    expect(answers.toSorted()).toEqual([200, 401, 401, 401, 401, 401])
  })

  test('the same recovery code in two concurrent requests signs in once, and never again', async () => {
    const { recoveryCodes } = await turnOn()
    const [code = '', other = ''] = recoveryCodes
    const attempt = (typed: string) => statusOf(signIn(instance, people.member, { code: typed }))
    const answers = await Promise.all(Array.from({ length: 6 }, () => attempt(code)))
    expect(answers.toSorted()).toEqual([200, 401, 401, 401, 401, 401])
    expect(await attempt(code)).toBe(401)
    expect(await attempt(other.toUpperCase().replaceAll('-', ' '))).toBe(200)
    expect((await status()).recoveryCodesLeft).toBe(8)
  })

  test('a recovery code of one user is invalid for another user', async () => {
    const { recoveryCodes } = await turnOn()
    await turnOnTotp(instance, people.admin, now())
    expect((await signIn(instance, people.admin, { code: recoveryCodes[0] as string })).status).toBe(401)
  })

  test('accepting an invitation requires the second factor', async () => {
    const { secret } = await turnOn()
    const stranger = (await makePeople(instance)).owner
    const { email } = people.member
    const invited = await call(instance, stranger.token, 'POST /invitations', { body: { email, role: 'viewer' } })
    const accept = (more: object) =>
      call(instance, null, 'POST /invitations/accept', { body: { code: invited.body.data.code, email, password, ...more } })
    expect(seen(await accept({}))).toEqual([401, 'second_factor_required'])
    expect(seen(await accept({ secondFactor: wrongCode(secret) }))).toEqual([401, 'unauthorized'])
    expect((await accept({ secondFactor: codeOf(secret, now()) })).status).toBe(201)
  })
})

describe('turning it off', () => {
  test('requires an unused code or a recovery code', async () => {
    const { secret, recoveryCodes } = await turnOn()
    const code = codeOf(secret, now())
    await signIn(instance, people.member, { code })
    expect(seen(await turnOff(code)), 'used').toEqual([401, 'unauthorized'])
    expect(seen(await turnOff(wrongCode(secret)))).toEqual([401, 'unauthorized'])
    expect((await turnOff(codeOf(secret, now(), 1))).status).toBe(204)
    expect(await status()).toEqual({ enabled: false, enabledAt: null, recoveryCodesLeft: 0 })
    expect((await signIn(instance, people.member)).status).toBe(200)
    const again = await turnOn()
    expect((await signIn(instance, people.member, { code: recoveryCodes[0] as string })).status, 'of the first set-up').toBe(401)
    expect((await turnOff(again.recoveryCodes[0] as string)).status).toBe(204)
  })
})

describe('guessing codes', () => {
  test('wrong codes count towards the login limit of the account, from all addresses', async () => {
    const limited = await startInstance({ BERTH_TRUSTED_PROXIES: '127.0.0.1' }, { rateLimits: { login: 1e6, account: 3 }, clock })
    try {
      const { member } = await makePeople(limited)
      const { secret } = await turnOnTotp(limited, member, now())
      const attempt = (at: number, code?: string) =>
        statusOf(signIn(limited, member, { ...(code ? { code } : {}), headers: { 'x-forwarded-for': `203.0.113.${at}` } }))
      const all = await Promise.all([...Array(8).keys()].map((at) => attempt(at, wrongCode(secret))))
      expect(all.filter((status) => status === 401).length).toBeLessThanOrEqual(3)
      expect(all.filter((status) => status === 429).length).toBeGreaterThanOrEqual(5)
      expect(await attempt(9, codeOf(secret, now()))).toBe(429)
    } finally {
      await limited.stop()
    }
  })

  test('wrong codes of signed-in callers count towards the login limit too', async () => {
    const limited = await startInstance({}, { rateLimits: {}, clock })
    try {
      const { member } = await makePeople(limited)
      const { secret } = await turnOnTotp(limited, member, now())
      const statuses: number[] = []
      for (let count = 0; count < 11; count++)
        statuses.push((await call(limited, member.token, 'DELETE /auth/totp', { body: { code: wrongCode(secret) } })).status)
      expect([statuses[9], statuses[10]]).toEqual([401, 429])
    } finally {
      await limited.stop()
    }
  })

  test('ten wrong codes within an hour lock the account; a browser that has signed in before is not locked out', async () => {
    const { secret } = await turnOn()
    const first = await signIn(instance, people.member, { code: codeOf(secret, now()) })
    const device = (first.headers['set-cookie'] as string[])[1]?.split(';')[0] as string
    const attempt = async (code: string, headers: Record<string, string> = {}) =>
      signIn(instance, people.member, { code, headers })
    for (let count = 0; count < 10; count++) {
      expect(seen(await attempt(wrongCode(secret)))).toEqual([401, 'unauthorized'])
      ahead += 61_000
    }
    const refused = await attempt(codeOf(secret, now()))
    expect(seen(refused)).toEqual([429, 'rate_limited'])
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(60)
    expect((await attempt(codeOf(secret, now()), { cookie: device })).status).toBe(200)
    ahead += 3_600_000
    expect((await attempt(codeOf(secret, now()))).status).toBe(200)
  })
})
