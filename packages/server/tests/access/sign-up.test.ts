// gate: also on PostgreSQL, since sign-ups take a lock, and two requests use one code
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Mail } from '../../src/drivers/mail/mailer.ts'
import { readConfig } from '../../src/instance/config/config.ts'
import { call } from '../kit/call.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, type People } from '../kit/people.ts'

const mails: Mail[] = []
const mailer = {
  configured: true,
  send: async (mail: Mail) => {
    mails.push(mail)
  },
}
const deliveryDrivers = { mailer, webRequest: (() => {}) as never } as never
const env = { BERTH_MODE: 'cloud', BERTH_SMTP_URL: 'smtp://127.0.0.1:9', BERTH_TRUSTED_PROXIES: '127.0.0.1' }

let open: TestInstance
let byInvitation: TestInstance
let people: People
beforeAll(async () => {
  open = await startInstance({ ...env, BERTH_SIGN_UP: 'open' }, { deliveryDrivers })
  byInvitation = await startInstance(env, { deliveryDrivers, secretBox: open.secretBox })
  people = await makePeople(byInvitation)
  await makePeople(open)
  await open.jobs.start()
})
afterAll(async () => {
  await open.jobs.stop()
  await open.stop()
  await byInvitation.stop()
})

let count = 0
const someone = () => {
  count += 1
  return `person-${count}@example.test`
}
const signUp = (instance: TestInstance, email: string, from = '198.51.100.1') =>
  call(instance, null, 'POST /auth/sign-up', { body: { email }, headers: { 'x-forwarded-for': from } })
const complete = (instance: TestInstance, body: { email: string; code: string }) =>
  call(instance, null, 'POST /auth/sign-up/complete', { body: { password: 'long enough', organization: 'Acme', ...body } })

async function codeFor(email: string): Promise<string> {
  await expect.poll(() => mails.some(({ to }) => to === email)).toBe(true)
  const { text } = mails.findLast(({ to }) => to === email) as Mail
  return decodeURIComponent(/code=([^&\s]+)/.exec(text)?.[1] ?? '')
}

describe('open sign-up', () => {
  test('the code arrives by mail and creates a user with their own organisation', async () => {
    const email = someone()
    expect(await signUp(open, email)).toMatchObject({ status: 202, body: { data: { email } } })
    const { status, body, headers } = await complete(open, { email, code: await codeFor(email) })
    expect(status).toBe(201)
    expect(body.data).toMatchObject({ role: 'owner', user: { email }, organization: { name: 'Acme' } })
    expect(String(headers['set-cookie'])).toContain('HttpOnly')
  })

  test('a user who signs up is not an operator, and sees no other users', async () => {
    const email = someone()
    await signUp(open, email, '198.51.100.2')
    const { headers } = await complete(open, { email, code: await codeFor(email) })
    const cookie = [headers['set-cookie']]
      .flat()
      .map((one) => String(one).split(';')[0])
      .join('; ')
    const requested = (at: 'GET /members' | 'POST /auth/sign-up/invitations', body?: object) =>
      call(open, null, at, {
        headers: { cookie, origin: 'http://localhost:80', host: 'localhost:80' },
        ...(body ? { body } : {}),
      })
    expect((await requested('GET /members')).body.data).toHaveLength(1)
    expect((await requested('POST /auth/sign-up/invitations', { email: someone() })).status).toBe(403)
  })

  test('the code works once, for that address only, and not if altered', async () => {
    const email = someone()
    await signUp(open, email)
    const code = await codeFor(email)
    for (const [who, what] of [
      [someone(), code],
      [email, `${code.slice(0, -1)}${code.endsWith('a') ? 'b' : 'a'}`],
      [email, code.split('.')[0] as string],
      [email, `${code.split('.')[0]}.`],
    ] as const)
      expect(await complete(open, { email: who, code: what })).toMatchObject({ status: 404, body: { code: 'not_found' } })
    const both = await Promise.all([complete(open, { email, code }), complete(open, { email, code })])
    expect(both.map(({ status }) => status).filter((status) => status === 201)).toHaveLength(1)
    expect((await complete(open, { email, code })).status).toBe(404)
  })

  test('an address with an account gets the same response, and a mail without a code', async () => {
    const email = someone()
    await signUp(open, email)
    await complete(open, { email, code: await codeFor(email) })
    mails.length = 0
    expect(await signUp(open, email.toUpperCase())).toMatchObject({ status: 202, body: { data: { email } } })
    await expect.poll(() => mails.length).toBe(1)
    expect(mails[0]?.text).toContain('already has an account')
    expect(mails[0]?.text).not.toContain('code=')
  })
})

describe('a thousand sign-ups are limited', () => {
  const taken = async (request: (at: number) => ReturnType<typeof signUp>) => {
    const answers = []
    for (let at = 0; at < 1000; at += 50)
      answers.push(...(await Promise.all(Array.from({ length: 50 }, (_, more) => request(at + more)))))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202, 429]))
    expect(answers.find(({ status }) => status === 429)?.headers['retry-after']).toBeDefined()
    return answers.filter(({ status }) => status === 202).length
  }
  test('by address, by mailbox, and in total', async () => {
    const instance = await startInstance({ ...env, BERTH_SIGN_UP: 'open', BERTH_SIGN_UPS_PER_HOUR: '60' }, { deliveryDrivers })
    await makePeople(instance)
    expect(await taken((at) => signUp(instance, 'one@example.test', `203.0.113.${at % 250}`))).toBe(3)
    expect(await taken(() => signUp(instance, someone(), '203.0.113.1'))).toBeLessThanOrEqual(20)
    expect(await taken((at) => signUp(instance, someone(), `10.${at >> 8}.${at & 255}.1`))).toBeLessThanOrEqual(60)
    const rows = await instance.database.db.selectFrom('signUps').select('id').execute()
    expect(rows).toHaveLength(60)
    await instance.stop()
  })
  test('429 after five in a minute from one address, by the limit of the route', async () => {
    const instance = await startInstance({ ...env, BERTH_SIGN_UP: 'open' }, { deliveryDrivers, rateLimits: {} })
    await makePeople(instance)
    const statuses = []
    for (let at = 0; at < 6; at += 1) statuses.push((await signUp(instance, someone(), '203.0.113.9')).status)
    expect(statuses).toEqual([202, 202, 202, 202, 202, 429])
    await instance.stop()
  })
})

describe('sign-up by invitation', () => {
  test('403 without an invitation; that of an operator creates a user with their own organisation', async () => {
    const email = someone()
    expect(await signUp(byInvitation, email)).toMatchObject({ status: 403, body: { code: 'forbidden' } })
    const invited = await call(byInvitation, people.admin.token, 'POST /auth/sign-up/invitations', { body: { email } })
    expect(invited).toMatchObject({ status: 201, body: { data: { email, url: expect.stringContaining('/sign-up?code=') } } })
    const { code } = invited.body.data
    expect((await complete(byInvitation, { email: someone(), code })).status).toBe(404)
    expect(await complete(byInvitation, { email, code })).toMatchObject({ status: 201, body: { data: { role: 'owner' } } })
    const again = await call(byInvitation, people.admin.token, 'POST /auth/sign-up/invitations', { body: { email } })
    expect(again).toMatchObject({ status: 409, body: { code: 'email_taken' } })
  })

  test('a code that was requested while sign-up was open is no longer valid', async () => {
    const email = someone()
    await signUp(open, email, '198.51.100.77')
    const code = await codeFor(email)
    const row = await open.database.db.selectFrom('signUps').selectAll().where('email', '=', email).executeTakeFirstOrThrow()
    await byInvitation.database.db.insertInto('signUps').values(row).execute()
    expect((await complete(byInvitation, { email, code })).status).toBe(404)
  })
})

test('sign-up is refused on a self-hosted instance, and on a cloud that is closed or not set up', async () => {
  for (const more of [{ BERTH_MODE: 'self-hosted' }, { BERTH_SIGN_UP: 'closed' }] as Record<string, string>[]) {
    const instance = await startInstance({ ...env, ...more }, { deliveryDrivers })
    await makePeople(instance)
    expect((await signUp(instance, someone())).status).toBe(404)
    expect((await complete(instance, { email: someone(), code: 'x' })).status).toBe(404)
    await instance.stop()
  }
  const fresh = await startInstance({ ...env, BERTH_SIGN_UP: 'open' }, { deliveryDrivers })
  expect(await signUp(fresh, someone())).toMatchObject({ status: 503, body: { code: 'starting' } })
  await fresh.stop()
})

test('an open cloud without a mail server does not start', () => {
  expect(() => readConfig({ HOME: '/tmp', BERTH_MODE: 'cloud', BERTH_SIGN_UP: 'open' })).toThrow(/BERTH_SMTP_URL is missing/)
})
