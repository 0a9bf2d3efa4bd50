import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Mail } from '../../src/drivers/mail/mailer.ts'
import { hashToken } from '../../src/platform/secrets/token.ts'
import { call } from '../kit/call.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, type People } from '../kit/people.ts'

/** The recipients of an invitation's code: the mailbox; the inviter too, except on a cloud with a mail server. */

interface Side {
  instance: TestInstance
  people: People
  mails: Mail[]
}

async function begin(env: Record<string, string>, hasMailServer: boolean): Promise<Side> {
  const mails: Mail[] = []
  const mailer = { configured: hasMailServer, send: async (mail: Mail) => void mails.push(mail) }
  const instance = await startInstance(env, { deliveryDrivers: { mailer, webRequest: (() => {}) as never } as never })
  await makePeople(instance)
  const people = await makePeople(instance)
  return { instance, people, mails }
}

const sides = {
  cloud: { env: { BERTH_MODE: 'cloud' }, hasMailServer: true, isShown: false },
  'cloud without a mail server': { env: { BERTH_MODE: 'cloud' }, hasMailServer: false, isShown: true },
  'self-hosted': { env: {}, hasMailServer: true, isShown: true },
  'self-hosted without a mail server': { env: {}, hasMailServer: false, isShown: true },
}

const invite = ({ instance, people }: Side, email: string) =>
  call(instance, people.owner.token, 'POST /invitations', { body: { email, role: 'member' } })
const accept = ({ instance }: Side, email: string, code: string) =>
  call(instance, null, 'POST /invitations/accept', { body: { code, email, password: 'long enough' } })

async function mailedCode({ mails }: Side, email: string): Promise<string> {
  await expect.poll(() => mails.some(({ to }) => to === email)).toBe(true)
  return /invitations\/([^?\s]+)/.exec(mails.findLast(({ to }) => to === email)!.text)?.[1] ?? ''
}

describe.each(Object.entries(sides))('%s', (_name, { env, hasMailServer, isShown }) => {
  let side: Side
  beforeAll(async () => {
    side = await begin(env, hasMailServer)
    await side.instance.jobs.start()
  })
  afterAll(async () => {
    await side.instance.jobs.stop()
    await side.instance.stop()
  })

  test(`the answer ${isShown ? 'holds the code' : 'holds no code'}`, async () => {
    const { status, body } = await invite(side, 'shown@example.test')
    expect(status).toBe(201)
    if (isShown) expect(body.data.url).toContain(body.data.code)
    else expect(body.data).toMatchObject({ email: 'shown@example.test', code: null, url: null })
    if (isShown) expect((await accept(side, 'shown@example.test', body.data.code)).status).toBe(201)
    // Neither the id nor the list reveals the code to an inviter.
    const guesses = [body.data.id, `${body.data.id}.`]
    for (const guess of guesses) expect((await accept(side, 'shown@example.test', guess)).status).toBe(404)
  })

  test.runIf(hasMailServer)('the mailbox gets the code, which adds a member once', async () => {
    await invite(side, 'mailed@example.test')
    const code = await mailedCode(side, 'mailed@example.test')
    expect((await accept(side, 'other@example.test', code)).status).toBe(404)
    expect((await accept(side, 'mailed@example.test', code)).status).toBe(201)
    expect((await accept(side, 'mailed@example.test', code)).status).toBe(404)
    const list = await call(side.instance, side.people.owner.token, 'GET /members')
    expect(list.body.data.map(({ email }: { email: string }) => email)).toContain('mailed@example.test')
  })

  test.runIf(hasMailServer)(
    'the number of invitation mails to one mailbox is limited, even if each invitation is withdrawn',
    async () => {
      const email = 'flooded@example.test'
      const statuses = []
      for (let at = 0; at < 8; at++) {
        const { status, body } = await invite(side, email)
        statuses.push(status)
        if (status === 201)
          await call(side.instance, side.people.owner.token, 'DELETE /invitations/:id', { params: { id: body.data.id } })
      }
      expect(statuses).toEqual([201, 201, 201, 201, 201, 429, 429, 429])
    },
  )

  test.runIf(!hasMailServer)('no mail is sent, and no attempt is counted', async () => {
    for (let at = 0; at < 8; at++) expect((await invite(side, 'again@example.test')).status).toBe(201)
    await side.instance.jobs.whenIdle()
    expect(side.mails).toEqual([])
  })
})

test('an invitation of an older version, which stored only the hash of its code, is still valid', async () => {
  const side = await begin({}, false)
  const { body } = await invite(side, 'older@example.test')
  await side.instance.database.db
    .updateTable('invitations')
    .set({ codeHash: hashToken('older-code') })
    .where('id', '=', body.data.id)
    .execute()
  expect((await accept(side, 'older@example.test', 'older-code')).status).toBe(201)
  await side.instance.stop()
})

test('a code sent after a newer key was added is valid, and so is the code in an earlier response', async () => {
  const side = await begin({}, true)
  const { body } = await invite(side, 'first@example.test')
  await invite(side, 'rotated@example.test')
  side.instance.secretBox.rotate()
  await side.instance.jobs.start()
  expect((await accept(side, 'rotated@example.test', await mailedCode(side, 'rotated@example.test'))).status).toBe(201)
  expect((await accept(side, 'first@example.test', body.data.code)).status).toBe(201)
  await side.instance.jobs.stop()
  await side.instance.stop()
})
