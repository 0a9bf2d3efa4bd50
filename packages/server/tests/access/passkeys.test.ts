// gate: also on PostgreSQL, since one response is used by two requests at once
import type { CreationOptions, RequestOptions } from '@berth/contract'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { newChallenge, spendChallenge } from '../../src/modules/access/passkey-challenge.ts'
import { type Answer, call } from '../kit/call.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, makeToken, type People, password } from '../kit/people.ts'
import { callAs, codeOf, cookieOf, signIn, turnOnTotp } from '../kit/sessions.ts'
import { cbor, type Flaws, softwareAuthenticator } from '../kit/software-authenticator.ts'

const host = 'berth.test'
const origin = `http://${host}`
let ahead = 0
const clock = { now: () => new Date(Date.now() + ahead) }
let instance: TestInstance
let people: People
let cookie: string
beforeAll(async () => {
  instance = await startInstance({}, { clock })
})
afterAll(() => instance.stop())
beforeEach(async () => {
  people = await makePeople(instance)
  cookie = cookieOf(await signIn(instance, people.member))
})

const seen = ({ status, body }: Answer) => [status, body.field ?? body.code]
const fromPage = { host, origin }
const begin = (currentPassword = password) =>
  callAs(instance, cookie, 'POST /auth/passkeys/registration', { body: { currentPassword } })
const optionsOf = async () => (await begin()).body.data as CreationOptions
const add = (credential: object, as = cookie) =>
  callAs(instance, as, 'POST /auth/passkeys', { body: { name: 'Laptop', credential } })
const signInOptions = async () => (await call(instance, null, 'GET /auth/passkeys/sign-in-options')).body.data as RequestOptions
const signInWith = (credential: object, headers = fromPage) =>
  call(instance, null, 'POST /auth/passkeys/sign-in', { body: { credential }, headers })

async function addPasskey() {
  const device = softwareAuthenticator(origin)
  const added = await add(device.create(await optionsOf()))
  expect(seen(added)).toEqual([201, undefined])
  return { device, id: added.body.data.id as string }
}

describe('adding a passkey', () => {
  test('201: it is listed with its host name, and signs in', async () => {
    const { device, id } = await addPasskey()
    const { body } = await callAs(instance, cookie, 'GET /auth/passkeys')
    const times = { createdAt: expect.any(String), lastUsedAt: null }
    expect(body.data).toEqual([{ id, name: 'Laptop', hostname: host, isSynced: false, ...times }])
    const answer = await signInWith(device.get(await signInOptions()))
    expect([answer.status, answer.body.data.user.email]).toEqual([200, people.member.email])
    expect((await callAs(instance, cookieOf(answer), 'GET /auth/session')).status).toBe(200)
    const used = (await callAs(instance, cookie, 'GET /auth/passkeys')).body.data[0].lastUsedAt
    expect(used).toEqual(expect.any(String))
  })

  test('401 without the right password', async () => {
    expect(seen(await begin('not this one'))).toEqual([401, 'currentPassword'])
  })

  test('401 without the second factor, which the passkey replaces', async () => {
    const now = clock.now().getTime()
    const { secret, recoveryCodes } = await turnOnTotp(instance, people.member, now)
    cookie = cookieOf(await signIn(instance, people.member, { code: codeOf(secret, now) }))
    const beginWith = (code?: string) =>
      callAs(instance, cookie, 'POST /auth/passkeys/registration', {
        body: { currentPassword: password, ...(code === undefined ? {} : { code }) },
      })
    expect(seen(await beginWith())).toEqual([401, 'second_factor_required'])
    expect(seen(await beginWith('000 000'))).toEqual([401, 'code'])
    expect((await beginWith(recoveryCodes[0])).status).toBe(200)
    expect(seen(await beginWith(recoveryCodes[0]))).toEqual([401, 'code'])
  })

  test.each<[string, Flaws]>([
    ['of another origin', { origin: 'https://evil.example' }],
    ['of another host name', { hostname: 'evil.example' }],
    ['of a sign-in', { type: 'webauthn.get' }],
    ['without verification of the user', { flags: 1 }],
    ['with a certificate', { fmt: 'packed', attStmt: new Map([['x5c', [Buffer.from('certificate')]]]) }],
    ['with another attestation', { fmt: 'android-safetynet' }],
    ['with an algorithm that was not offered', { algorithm: -36 }],
  ])('400: a credential %s', async (_, flaws) => {
    const credential = softwareAuthenticator(origin).create(await optionsOf(), flaws)
    const { status, body } = await add(credential)
    expect([status, body.field]).toEqual([400, expect.stringMatching(/^credential/)])
    expect((await callAs(instance, cookie, 'GET /auth/passkeys')).body.data).toEqual([])
  })

  test('400: options of another user, options of a sign-in, and expired options', async () => {
    const options = await optionsOf()
    const other = cookieOf(await signIn(instance, people.owner))
    expect(seen(await add(softwareAuthenticator(origin).create(options), other))).toEqual([400, 'credential'])
    const { challenge } = await signInOptions()
    expect(seen(await add(softwareAuthenticator(origin).create({ ...options, challenge })))).toEqual([400, 'credential'])
    ahead += 5 * 60_000 + 1
    expect(seen(await add(softwareAuthenticator(origin).create(options)))).toEqual([400, 'credential'])
  })

  test('the same options add one passkey, also by requests at the same time', async () => {
    const options = await optionsOf()
    const answers = await Promise.all([1, 2, 3].map(() => add(softwareAuthenticator(origin).create(options))))
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 401, 401])
  })

  test('409: the same credential twice, and more than twenty', async () => {
    const { device } = await addPasskey()
    expect(seen(await add(device.create(await optionsOf())))).toEqual([409, 'conflict'])
    for (let count = 1; count < 20; count++) await addPasskey()
    expect(seen(await begin())).toEqual([409, 'conflict'])
  })

  test('409: from an address without a host name, and from no page', async () => {
    const at = { host: '127.0.0.1:4000', origin: 'http://127.0.0.1:4000' }
    const body = { currentPassword: password }
    expect(seen(await callAs(instance, cookie, 'POST /auth/passkeys/registration', { body, headers: at }))).toEqual([
      409,
      'conflict',
    ])
    expect(seen(await call(instance, people.member.token, 'POST /auth/passkeys/registration', { body }))).toEqual([
      409,
      'conflict',
    ])
  })

  test('403: a token with scopes', async () => {
    const token = await makeToken(instance, people.member, { scopes: ['token:write'] })
    const input = { body: { currentPassword: password }, headers: fromPage }
    expect(seen(await call(instance, token, 'POST /auth/passkeys/registration', input))).toEqual([403, 'forbidden'])
  })
})

describe('signing in with a passkey', () => {
  test('no code is asked for: the device verified its user', async () => {
    const { device } = await addPasskey()
    await turnOnTotp(instance, people.member, clock.now().getTime())
    expect((await signInWith(device.get(await signInOptions()))).status).toBe(200)
  })

  test('one response signs in once, also in requests at the same time', async () => {
    const { device } = await addPasskey()
    const credential = device.get(await signInOptions())
    const answers = await Promise.all([1, 2, 3].map(() => signInWith(credential)))
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 401, 401])
  })

  test.each<[string, Flaws]>([
    ['another origin', { origin: 'https://evil.example' }],
    ['another host name', { hostname: 'evil.example' }],
    ['the type of a registration', { type: 'webauthn.create' }],
    ['no verification of the user', { flags: 1 }],
    ['the handle of another user', { userHandle: Buffer.from('usr_other').toString('base64url') }],
  ])('401: %s', async (_, flaws) => {
    const { device } = await addPasskey()
    const answer = await signInWith(device.get(await signInOptions(), flaws))
    expect(seen(answer)).toEqual([401, 'credential'])
    expect(answer.headers['set-cookie']).toBeUndefined()
  })

  test('401: an unknown passkey, the key of another one, a removed one, options of a registration, expired options', async () => {
    const { device, id } = await addPasskey()
    const stranger = softwareAuthenticator(origin)
    expect(seen(await signInWith(stranger.get(await signInOptions())))).toEqual([401, 'credential'])
    const forged = { ...stranger.get(await signInOptions(), { userHandle: null }), id: device.id, rawId: device.id }
    expect(seen(await signInWith(forged))).toEqual([401, 'credential'])
    const { challenge } = await optionsOf()
    expect(seen(await signInWith(device.get({ ...(await signInOptions()), challenge })))).toEqual([401, 'credential'])
    const options = await signInOptions()
    ahead += 5 * 60_000 + 1
    expect(seen(await signInWith(device.get(options)))).toEqual([401, 'credential'])
    expect((await callAs(instance, cookie, 'DELETE /auth/passkeys/:id', { params: { id } })).status).toBe(204)
    expect(seen(await signInWith(device.get(await signInOptions())))).toEqual([401, 'credential'])
  })

  test('401: a counter that does not rise, as a copied authenticator has it', async () => {
    const { device } = await addPasskey()
    expect((await signInWith(device.get(await signInOptions(), { counter: 7 }))).status).toBe(200)
    expect(seen(await signInWith(device.get(await signInOptions(), { counter: 7 })))).toEqual([401, 'credential'])
    expect((await signInWith(device.get(await signInOptions(), { counter: 8 }))).status).toBe(200)
  })

  test('401: the page of another host name', async () => {
    const { device } = await addPasskey()
    const elsewhere = { host: 'other.test', origin: 'http://other.test' }
    const credential = device.get(await signInOptions(), { origin: elsewhere.origin, hostname: 'other.test' })
    expect(seen(await signInWith(credential, elsewhere))).toEqual([401, 'credential'])
  })

  test('a reset of the password removes passkeys: another person may have added one', async () => {
    const { device } = await addPasskey()
    const { resetAccount } = instance.access
    await resetAccount({ email: people.member.email, password: 'another long one', keepTotp: true, revokeTokens: false })
    expect(seen(await signInWith(device.get(await signInOptions())))).toEqual([401, 'credential'])
  })

  test('400: a passkey that was begun before a reset of the password', async () => {
    const options = await optionsOf()
    const { resetAccount } = instance.access
    await resetAccount({ email: people.member.email, password: 'another long one', keepTotp: true, revokeTokens: false })
    const credential = softwareAuthenticator(origin).create(options)
    const input = { body: { name: 'Laptop', credential }, headers: fromPage }
    // Tokens outlive the reset.
    expect(seen(await call(instance, people.member.token, 'POST /auth/passkeys', input))).toEqual([400, 'credential'])
  })

  test('401: a response that expired after it was checked may have been used before', async () => {
    const challenge = newChallenge({ act: 'sign-in' }, { secretBox: instance.secretBox, clock })
    const spendAt = (ms: number) =>
      spendChallenge(instance.database.db, challenge, { clock: { now: () => new Date(clock.now().getTime() + ms) } })
    await spendAt(0)
    await expect(spendAt(5 * 60_000 + 1)).rejects.toThrow('already used, or it expired')
  })

  test('401: the page of a project below the host name of the dashboard', async () => {
    const { device } = await addPasskey()
    const page = { host: `shop.${host}`, origin: `http://shop.${host}` }
    // A browser lets such a page use the passkeys of the host name above it, and states the page's own origin.
    for (const headers of [page, fromPage, { ...fromPage, 'x-forwarded-host': page.host }])
      expect(seen(await signInWith(device.get(await signInOptions(), { origin: page.origin }), headers))).toEqual([
        401,
        'credential',
      ])
  })

  test('the audit log names the passkey', async () => {
    const { device } = await addPasskey()
    await signInWith(device.get(await signInOptions()))
    const { body } = await call(instance, people.owner.token, 'GET /audit-log')
    expect(body.data[0]).toMatchObject({
      action: 'POST /auth/passkeys/sign-in',
      userId: people.member.userId,
      changes: { email: people.member.email, passkey: 'Laptop' },
    })
    expect(body.data[1]).toMatchObject({ action: 'POST /auth/passkeys' })
    expect(body.data[1].changes).toEqual({ name: 'Laptop', hostname: host })
  })

  test.each([
    ['no CBOR', { attestationObject: 'AAAA' }],
    ['deep CBOR', { attestationObject: Buffer.alloc(12_000, 0x81).toString('base64url') }],
    ['no JSON', { clientDataJSON: 'AAAA' }],
    ['CBOR of another type', { attestationObject: cbor(7).toString('base64url') }],
    ['CBOR without its parts', { attestationObject: cbor(new Map([['fmt', 'packed']])).toString('base64url') }],
  ])('400 within a moment: %s', async (_, broken) => {
    const credential = softwareAuthenticator(origin).create(await optionsOf())
    expect(seen(await add({ ...credential, response: { ...credential.response, ...broken } }))).toEqual([400, 'credential'])
  })
})
