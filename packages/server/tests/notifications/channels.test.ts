// gate: also on PostgreSQL, since two changes of one channel meet
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startSmtpServer, type TestSmtpServer } from '../../src/drivers/mail/test-smtp-server.ts'
import { startReceiver } from '../../src/drivers/web-request/test-receiver.ts'
import { makeToken } from '../kit/people.ts'
import { asPerson, makePeople, type People, type Scene, startScene } from './scene.ts'

let scene: Scene
let people: People
let me: ReturnType<typeof asPerson>
let smtp: TestSmtpServer
beforeAll(async () => {
  smtp = await startSmtpServer()
  scene = await startScene({ smtpPort: smtp.port })
})
beforeEach(async () => {
  people = await makePeople(scene)
  me = asPerson(scene, people.member)
})
afterAll(async () => {
  await scene?.stop()
  await smtp?.[Symbol.asyncDispose]()
})

const slackUrl = 'https://hooks.slack.com/services/T0/B0/canaryslack1234'
const bodies = {
  email: { kind: 'email', label: 'Mail', config: { address: 'me@example.test' } },
  webhook: { kind: 'webhook', label: 'Hook', config: { url: 'https://example.test/hook' } },
  slack: { kind: 'slack', label: 'Chat', config: { webhookUrl: slackUrl } },
  in_app: { kind: 'in_app', label: 'Bell', config: {} },
} as const
const outside = ['email', 'webhook', 'slack'] as const

describe('POST /notifications/channels (States)', () => {
  test('kind is in_app: enabled=true, verified=true', async () => {
    expect(await me.create(bodies.in_app)).toMatchObject({
      kind: 'in_app',
      label: 'Bell',
      enabled: true,
      verified: true,
      config: {},
    })
  })
  test('an in_app channel needs no config', async () => {
    expect(await me.create({ kind: 'in_app', label: 'Bell' })).toMatchObject({ verified: true })
  })
  test.each(outside)('kind is another one (%s): enabled=true, verified=false', async (kind) => {
    expect(await me.create(bodies[kind])).toMatchObject({ kind, enabled: true, verified: false })
  })
  test('201 with an id, its times and the label without white space around it', async () => {
    const { status, body } = await me.ask('POST /notifications/channels', { body: { ...bodies.email, label: '  Mail  ' } })
    expect(status).toBe(201)
    expect(body.data).toMatchObject({ id: expect.stringMatching(/^nch_[a-z2-7]{20}$/), label: 'Mail' })
    expect(Date.parse(body.data.createdAt)).toBe(Date.parse(body.data.updatedAt))
  })
  test('a sent `verified` or `enabled` is dropped: only a test or the owner’s PATCH verifies', async () => {
    expect(await me.create({ ...bodies.email, verified: true, enabled: false })).toMatchObject({ enabled: true, verified: false })
  })
  test('a viewer may create one: channels belong to their user', async () => {
    expect(await asPerson(scene, people.viewer).create(bodies.email)).toMatchObject({ kind: 'email' })
  })
})

describe('400 (Errors)', () => {
  const cases: [string, object, string][] = [
    ['kind not one of email, webhook, in_app, slack', { ...bodies.email, kind: 'sms' }, 'kind'],
    ['kind missing', { label: 'x', config: {} }, 'kind'],
    ['label missing', { kind: 'email', config: bodies.email.config }, 'label'],
    ['label empty', { ...bodies.email, label: '   ' }, 'label'],
    ['label with a NUL', { ...bodies.email, label: 'a\0b' }, 'label'],
    ['a malformed e-mail', { ...bodies.email, config: { address: 'me at home' } }, 'config.address'],
    ['no address', { ...bodies.email, config: {} }, 'config.address'],
    ['no config at all', { kind: 'email', label: 'Mail' }, 'config.address'],
    ['config that is not an object', { ...bodies.email, config: 'me@example.test' }, 'config'],
    ['a webhook URL that is not http(s)', { ...bodies.webhook, config: { url: 'ftp://example.test/' } }, 'config.url'],
    ['a webhook URL that is none', { ...bodies.webhook, config: { url: 'example' } }, 'config.url'],
    [
      'a chat URL on another host',
      { ...bodies.slack, config: { webhookUrl: 'https://evil.test/services/x' } },
      'config.webhookUrl',
    ],
    [
      'a chat URL that is not https',
      { ...bodies.slack, config: { webhookUrl: slackUrl.replace('https', 'http') } },
      'config.webhookUrl',
    ],
  ]
  test.each(cases)('%s', async (_, body, field) => {
    const answer = await me.ask('POST /notifications/channels', { body })
    expect({ status: answer.status, code: answer.body.code, field: answer.body.field }).toEqual({
      status: 400,
      code: 'validation_failed',
      field,
    })
  })
  test('a PATCH is checked the same way and changes nothing', async () => {
    const { id } = await me.create(bodies.email)
    const answer = await me.change(id, { label: 'New', config: { address: 'no-address' } })
    expect([answer.status, answer.body.field]).toEqual([400, 'config.address'])
    expect(await me.channel(id)).toMatchObject({ label: 'Mail', config: bodies.email.config })
  })
  test('booleans are not coerced', async () => {
    const { id } = await me.create(bodies.email)
    for (const body of [{ enabled: null }, { enabled: '1' }, { verified: 1 }]) {
      const { status, body: error } = await me.change(id, body)
      expect([status, error.field]).toEqual([400, Object.keys(body)[0]])
    }
  })
  test('the required host of chat URLs is a setting of the instance', async () => {
    const other = await startScene({ env: { BERTH_SLACK_HOST: 'chat.example.test' } })
    try {
      const they = asPerson(other, (await makePeople(other)).owner)
      const url = 'https://chat.example.test/hooks/abcdefghijkl'
      expect(await they.create({ ...bodies.slack, config: { webhookUrl: url } })).toMatchObject({ kind: 'slack' })
      const { body } = await they.ask('POST /notifications/channels', { body: bodies.slack })
      expect(body.field).toBe('config.webhookUrl')
    } finally {
      await other.stop()
    }
  })
})

describe('PATCH /notifications/channels/:id (States)', () => {
  const verified = async (kind: (typeof outside)[number]) => {
    const { id } = await me.create(bodies[kind])
    expect((await me.change(id, { verified: true })).body.data.verified).toBe(true)
    return id as string
  }
  const moved = {
    email: { address: 'other@example.test' },
    webhook: { url: 'https://example.test/other' },
    slack: { webhookUrl: slackUrl.replace('1234', '5678') },
  }

  test.each(outside)('channel unverified, verified set by its owner: verified as sent (%s)', async (kind) => {
    const id = await verified(kind)
    expect((await me.change(id, { verified: false })).body.data.verified).toBe(false)
  })
  test.each(outside)('channel verified, config changed: verified=false, the destination may have moved (%s)', async (kind) => {
    const id = await verified(kind)
    const { body } = await me.change(id, { config: moved[kind] })
    expect([body.data.verified, body.warnings]).toEqual([false, [expect.stringContaining('must be verified again')]])
    expect((await me.change(id, { config: moved[kind], label: 'Moved' })).body.warnings).toBeUndefined()
    expect(await me.channel(id)).toMatchObject({ verified: false })
  })
  test.each(outside)('a changed config unverifies even when the same PATCH also sends verified: true (%s)', async (kind) => {
    const id = await verified(kind)
    expect((await me.change(id, { config: moved[kind], verified: true })).body.data.verified).toBe(false)
  })
  test.each(outside)('the same config sent again changes nothing (%s)', async (kind) => {
    const id = await verified(kind)
    expect((await me.change(id, { config: bodies[kind].config })).body.data.verified).toBe(true)
    const shown = (await me.channel(id)).config
    expect((await me.change(id, { config: shown })).body.data).toMatchObject({ verified: true, config: shown })
  })
  test.each(outside)('channel unverified, config and verified sent together: verified as sent (%s)', async (kind) => {
    const { id } = await me.create(bodies[kind])
    expect((await me.change(id, { config: moved[kind], verified: true })).body.data.verified).toBe(true)
  })
  test.each(outside)('the same config sent again does not even change the time (%s)', async (kind) => {
    const id = await verified(kind)
    const before = await me.channel(id)
    await scene.pass(10)
    expect((await me.change(id, { config: bodies[kind].config, verified: true })).body.data).toEqual(before)
  })
  test('another signing secret is another config', async () => {
    const id = await verified('webhook')
    const config = { ...bodies.webhook.config, secret: 'a-secret-of-mine' }
    expect((await me.change(id, { config })).body.data.verified).toBe(false)
  })
  test('changing a label or `enabled` does not unverify', async () => {
    const id = await verified('email')
    expect((await me.change(id, { label: 'Post', enabled: false })).body.data).toMatchObject({
      label: 'Post',
      enabled: false,
      verified: true,
    })
  })
  test('in_app is always verified', async () => {
    const { id } = await me.create(bodies.in_app)
    for (const body of [{ verified: false }, { config: {} }, { config: { any: 1 }, verified: false }])
      expect((await me.change(id, body)).body.data.verified).toBe(true)
    const { warnings } = (await me.change(id, { verified: false, label: 'Bell' })).body
    expect(warnings).toEqual([expect.stringContaining('always verified')])
  })
  test('omitted fields stay, and the kind cannot change', async () => {
    const { id } = await me.create(bodies.email)
    expect((await me.change(id, { kind: 'in_app' })).body.data).toMatchObject({ kind: 'email', label: 'Mail', enabled: true })
  })
  test('a concurrent move and rename of the channel are both kept, and it ends unverified', async () => {
    for (let round = 0; round < 10; round++) {
      const id = await verified('webhook')
      await Promise.all([me.change(id, { config: moved.webhook }), me.change(id, { label: 'Renamed' })])
      expect(await me.channel(id)).toMatchObject({ verified: false, label: 'Renamed', config: { url: moved.webhook.url } })
      await me.ask('DELETE /notifications/channels/:id', { params: { id } })
    }
  })
})

describe('404: a channel, subscription or delivery of another user', () => {
  const outsiders = async () => {
    const { id: channelId } = await me.create(bodies.in_app)
    const { id: subscriptionId } = await me.subscribe('deploy.failed', channelId)
    await scene.happen(people, 'deploy.failed')
    const [{ id: deliveryId }] = await me.deliveries()
    return [
      ['PATCH /notifications/channels/:id', channelId, { label: 'Stolen' }],
      ['POST /notifications/channels/:id/test', channelId, undefined],
      ['DELETE /notifications/channels/:id', channelId, undefined],
      ['DELETE /notifications/subscriptions/:id', subscriptionId, undefined],
      ['POST /notifications/deliveries/:id/seen', deliveryId, undefined],
    ] as const
  }
  test('an owner of the same organisation has no access to those of another user', async () => {
    for (const [at, id, body] of await outsiders()) {
      const { status } = await asPerson(scene, people.owner).ask(at, { params: { id }, body })
      expect([at, status]).toEqual([at, 404])
    }
  })
  test('subscriptions and deliveries belong to their organisation: the same user cannot reach them from another one', async () => {
    const other = await makePeople(scene)
    await scene.database.db
      .insertInto('members')
      .values({ organizationId: other.organizationId, userId: people.member.userId, role: 'owner', joinedAt: 1 })
      .execute()
    const token = await makeToken(scene, { userId: people.member.userId, organizationId: other.organizationId })
    for (const [at, id, body] of await outsiders()) {
      if (at.includes('/channels/')) continue
      const { status } = await asPerson(scene, { token }).ask(at, { params: { id }, body })
      expect([at, status]).toEqual([at, 404])
    }
  })
  test('an id with a NUL is 404', async () => {
    for (const at of [
      'PATCH /notifications/channels/:id',
      'DELETE /notifications/subscriptions/:id',
      'POST /notifications/deliveries/:id/seen',
    ] as const)
      expect((await me.ask(at, { params: { id: 'x\0' }, body: at.startsWith('PATCH') ? {} : undefined })).status).toBe(404)
  })
})

describe('secrets in config are stored encrypted and never returned in full', () => {
  const canary = 'canary-signing-secret'
  const everything = async () => {
    const tables = ['notificationChannels', 'jobs', 'auditLog', 'announcements', 'deliveries'] as const
    const rows = await Promise.all(tables.map((table) => scene.database.db.selectFrom(table).selectAll().execute()))
    return JSON.stringify(rows)
  }
  test('a generated signing secret is shown once, in the response that creates the channel', async () => {
    const made = await me.create(bodies.webhook)
    expect(made.secret).toMatch(/^bws_\S{40,}$/)
    expect(made.config).toEqual({ url: bodies.webhook.config.url, hasSecret: true })
    expect(JSON.stringify(await me.ask('GET /notifications/channels'))).not.toContain(made.secret)
    expect(JSON.stringify(await me.change(made.id, { label: 'x' }))).not.toContain(made.secret)
    expect(await everything()).not.toContain(made.secret)
  })
  test('a secret of the caller and a full chat URL are never shown, and not in the audit log', async () => {
    const made = await me.create({ ...bodies.webhook, config: { ...bodies.webhook.config, secret: canary } })
    expect(made).not.toHaveProperty('secret')
    const chat = await me.create(bodies.slack)
    expect(chat.config).toEqual({ webhookUrl: 'https://hooks.slack.com/…1234' })
    const list = await me.ask('GET /notifications/channels')
    expect(JSON.stringify([made, chat, list])).not.toMatch(/canary/)
    expect(await everything()).not.toMatch(/canary/)
  })
  test('a URL edit keeps the signing secret', async () => {
    await using receiver = await startReceiver()
    const { id, secret } = await me.create(bodies.webhook)
    await me.change(id, { config: { url: receiver.url } })
    expect((await me.test(id)).status).toBe(200)
    const { isFromBerth } = await verifier()
    const [seen] = receiver.received
    expect(isFromBerth(secret, seen!.headers['berth-signature'], seen!.body)).toBe(true)
    expect(isFromBerth('another', seen!.headers['berth-signature'], seen!.body)).toBe(false)
  })
})

/** The verification code of the documentation, unchanged. */
async function verifier(): Promise<{ isFromBerth(secret: string, header: unknown, body: string): boolean }> {
  const { readFileSync } = await import('node:fs')
  const docs = readFileSync(new URL('../../../../docs/webhooks.md', import.meta.url), 'utf8')
  const code = /```js\n([\s\S]*?)```/.exec(docs)![1]!
  return import(`data:text/javascript,${encodeURIComponent(code)}`)
}

describe('POST /notifications/channels/:id/test', () => {
  test('sends a message and sets verified when it arrived (webhook)', async () => {
    await using receiver = await startReceiver()
    const { id } = await me.create({ ...bodies.webhook, config: { url: `${receiver.url}/in` } })
    const { status, body } = await me.test(id)
    expect([status, body.data.verified]).toEqual([200, true])
    expect(receiver.received).toHaveLength(1)
    expect(receiver.received[0]?.headers['berth-event']).toBe('test')
    expect(JSON.parse(receiver.received[0]!.body)).toMatchObject({ category: 'test', data: { test: true } })
  })
  test('sends a message and sets verified when it arrived (email)', async () => {
    const { id } = await me.create({ ...bodies.email, config: { address: 'proof@example.test' } })
    expect((await me.test(id)).body.data).toMatchObject({ verified: true })
    const mail = smtp.mails.find(({ to }) => to.includes('proof@example.test'))
    expect(mail?.parsed.subject).toBe('Test notification from Berth')
    expect(mail?.parsed.text).toContain('If you did not expect this')
  })
  test('an in_app channel is always verified', async () => {
    const { id } = await me.create(bodies.in_app)
    expect((await me.test(id)).body.data).toMatchObject({ verified: true })
  })
  test('400 delivery_failed with the reason if it did not arrive, and the channel stays unverified', async () => {
    await using receiver = await startReceiver((response) => response.writeHead(500).end('secret internals'))
    const { id } = await me.create({ ...bodies.webhook, config: { url: receiver.url } })
    const { status, body } = await me.test(id)
    expect([status, body.code, body.error]).toEqual([400, 'delivery_failed', 'The receiver answered 500 Internal Server Error'])
    expect(await me.channel(id)).toMatchObject({ verified: false })
  })
  test('a channel whose address changes during the test is not verified by it', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    await using receiver = await startReceiver(async (response) => {
      await promise
      response.end()
    })
    const { id } = await me.create({ ...bodies.webhook, config: { url: receiver.url } })
    const testing = me.test(id)
    while (receiver.received.length === 0) await new Promise((later) => setTimeout(later, 5))
    await me.change(id, { config: { url: `${receiver.url}/elsewhere` } })
    resolve()
    expect((await testing).body.code).toBe('delivery_failed')
    expect(await me.channel(id)).toMatchObject({ verified: false })
  })
  test('429 after twenty tests within a minute, so that a receiver cannot be flooded', async () => {
    const { id } = await me.create(bodies.in_app)
    for (let at = 0; at < 20; at++) expect((await me.test(id)).status).toBe(200)
    const { status, headers } = await me.test(id)
    expect(status).toBe(429)
    expect(Number(headers['retry-after'])).toBeGreaterThan(0)
  })
})

describe('the lists', () => {
  test('a user sees their own channels, oldest first, in pages', async () => {
    const made: string[] = []
    for (const kind of ['email', 'webhook', 'slack'] as const) {
      made.push((await me.create(bodies[kind])).id)
      await scene.pass(5)
    }
    await asPerson(scene, people.owner).create(bodies.email)
    const first = await me.ask('GET /notifications/channels', { query: { limit: 2 } })
    const rest = await me.ask('GET /notifications/channels', { query: { limit: 2, cursor: first.body.nextCursor } })
    expect([...first.body.data, ...rest.body.data].map(({ id }) => id)).toEqual(made)
    expect(rest.body.nextCursor).toBeNull()
  })
  test('GET /notifications/categories is the static registry, complete and in pages', async () => {
    const { body } = await me.ask('GET /notifications/categories')
    expect(body.data).toContainEqual({
      id: 'deploy.failed',
      label: expect.any(String),
      description: expect.any(String),
      defaultEnabled: true,
    })
    expect(body.data).toHaveLength(26)
    const first = await me.ask('GET /notifications/categories', { query: { limit: 18 } })
    const rest = await me.ask('GET /notifications/categories', { query: { limit: 18, cursor: first.body.nextCursor } })
    expect([...first.body.data, ...rest.body.data]).toEqual(body.data)
    expect((await me.ask('GET /notifications/categories', { query: { cursor: 'x' } })).body.field).toBe('cursor')
  })
  test('a channel is deleted with its subscriptions: 204, then 404', async () => {
    const { id } = await me.create(bodies.email)
    await me.subscribe('deploy.failed', id)
    expect((await me.ask('DELETE /notifications/channels/:id', { params: { id } })).status).toBe(204)
    expect((await me.ask('DELETE /notifications/channels/:id', { params: { id } })).status).toBe(404)
    expect((await me.ask('GET /notifications/subscriptions')).body.data).toEqual([])
  })
  test('a user who leaves the organisation loses its subscriptions and deliveries, and keeps the channels', async () => {
    const { id } = await me.create(bodies.email)
    await me.subscribe('deploy.failed', id)
    await scene.happen(people, 'deploy.failed')
    await asPerson(scene, people.owner).ask('DELETE /members/:userId', { params: { userId: people.member.userId } })
    const left = (table: 'notificationChannels' | 'notificationSubscriptions' | 'deliveries') =>
      scene.database.db.selectFrom(table).select('id').where('userId', '=', people.member.userId).execute()
    expect(await left('notificationSubscriptions')).toEqual([])
    expect(await left('deliveries')).toEqual([])
    expect(await left('notificationChannels')).toContainEqual({ id })
  })
})
