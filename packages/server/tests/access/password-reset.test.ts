// gate: also on PostgreSQL, since one link is used by two requests at once
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Mail } from '../../src/drivers/mail/mailer.ts'
import { call } from '../kit/call.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, type People } from '../kit/people.ts'
import { callAs, codeOf, cookieOf, signIn, turnOnTotp } from '../kit/sessions.ts'
import { storedIn } from '../kit/stored.ts'

let ahead = 0
const now = () => Date.now() + ahead
const mails: Mail[] = []
let instance: TestInstance
let people: People
beforeAll(async () => {
  const mailer = { configured: true, send: async (mail: Mail) => void mails.push(mail) }
  const deliveryDrivers = { mailer, webRequest: (() => {}) as never } as never
  instance = await startInstance({}, { deliveryDrivers, clock: { now: () => new Date(now()) } })
  await instance.jobs.start()
})
afterAll(async () => {
  await instance.jobs.stop()
  await instance.stop()
})
beforeEach(async () => {
  people = await makePeople(instance)
})

const newPassword = 'another horse battery'
const request = (email: string) => call(instance, null, 'POST /auth/password/reset-request', { body: { email } })
const reset = (code: string) => call(instance, null, 'POST /auth/password/reset', { body: { code, password: newPassword } })
async function mailedCode(email: string): Promise<string> {
  await expect.poll(() => mails.some(({ to }) => to === email)).toBe(true)
  const text = mails.findLast(({ to }) => to === email)!.text
  return decodeURIComponent(/reset-password\?code=(\S+)/.exec(text)?.[1] ?? '')
}

describe('a reset by mail', () => {
  test('the link sets a password once and ends every session; the second factor stays', async () => {
    const { email } = people.member
    const cookie = cookieOf(await signIn(instance, people.member))
    const { secret } = await turnOnTotp(instance, people.member, now())
    expect((await request(email)).status).toBe(202)
    const code = await mailedCode(email)
    expect((await storedIn(instance)).join()).not.toContain(code)
    expect((await reset(`${code}x`)).status).toBe(404)
    const answers = await Promise.all([reset(code), reset(code)])
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 404])
    expect((await reset(code)).status).toBe(404)
    expect((await callAs(instance, cookie, 'GET /auth/session')).status).toBe(401)
    expect((await signIn(instance, people.member)).body.code).toBe('unauthorized')
    expect((await signIn(instance, people.member, { password: newPassword })).body.code).toBe('second_factor_required')
    const attempt = { password: newPassword, code: codeOf(secret, now()) }
    expect((await signIn(instance, people.member, attempt)).status).toBe(200)
    const log = await call(instance, people.owner.token, 'GET /audit-log', { query: { action: 'POST /auth/password/reset' } })
    expect(log.body.data).toMatchObject([
      { userId: people.member.userId, objectKind: 'user', changes: { code: '[secret]', password: '[secret]' } },
    ])
  })

  test('a link is valid for 30 minutes', async () => {
    await request(people.member.email)
    const code = await mailedCode(people.member.email)
    ahead += 31 * 60_000
    expect((await reset(code)).status).toBe(404)
    expect((await signIn(instance, people.member)).status).toBe(200)
  })

  test('an unknown address gets the same answer and no mail; one mailbox gets three mails an hour', async () => {
    const [known, unknown] = [people.viewer.email, 'unknown@example.test']
    const shapeOf = async (email: string) => {
      const { status, body } = await request(email)
      return [status, Object.keys(body.data), body.data.email === email]
    }
    expect(await shapeOf(unknown)).toEqual(await shapeOf(known))
    await mailedCode(known)
    for (const email of [known, unknown]) {
      const statuses = [await request(email), await request(email), await request(email)].map(({ status }) => status)
      expect(statuses).toEqual([202, 202, 429])
    }
    expect(mails.filter(({ to }) => to === unknown)).toEqual([])
  })

  test('409 without a mail server, which names the command for the operator', async () => {
    const other = await startInstance()
    try {
      const body = { email: 'ann@example.test' }
      const answer = await call(other, null, 'POST /auth/password/reset-request', { body })
      expect([answer.status, answer.body.error]).toEqual([409, expect.stringContaining('berth admin reset')])
    } finally {
      await other.stop()
    }
  })
})

describe('a reset on the machine', () => {
  const onMachine = (email: string, more: object = {}) =>
    instance.access.resetAccount({ email, password: newPassword, keepTotp: false, revokeTokens: false, ...more })

  test('a user who lost the phone can sign in again; sessions end, and the audit log records it', async () => {
    const { recoveryCodes } = await turnOnTotp(instance, people.member, now())
    const cookie = cookieOf(await signIn(instance, people.member, { code: recoveryCodes[0] as string }))
    expect(await onMachine(people.member.email.toUpperCase())).toMatchObject({
      endedSessions: 1,
      revokedTokens: 0,
      hadTotp: true,
    })
    expect((await callAs(instance, cookie, 'GET /auth/session')).status).toBe(401)
    expect((await signIn(instance, people.member, { password: newPassword })).status).toBe(200)
    const log = await call(instance, people.owner.token, 'GET /audit-log', { query: { action: 'berth admin reset' } })
    expect(log.body.data).toMatchObject([{ objectId: people.member.userId, changes: { turnedOffTotp: true, endedSessions: 1 } }])
    expect(JSON.stringify(log.body)).not.toContain(newPassword)
  })

  test('keeps the second factor and revokes tokens if requested; an unknown user is null', async () => {
    await turnOnTotp(instance, people.member, now())
    const reset = await onMachine(people.member.email, { keepTotp: true, revokeTokens: true })
    expect(reset).toMatchObject({ revokedTokens: 1, hadTotp: true })
    expect((await signIn(instance, people.member, { password: newPassword })).body.code).toBe('second_factor_required')
    expect((await call(instance, people.member.token, 'GET /auth/session')).status).toBe(401)
    expect(await onMachine('unknown@example.test')).toBeNull()
  })
})
