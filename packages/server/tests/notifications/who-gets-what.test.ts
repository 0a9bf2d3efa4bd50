// gate: also on PostgreSQL, since it runs SQL that no other file of the gate runs
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startSmtpServer, type TestSmtpServer } from '../../src/drivers/mail/test-smtp-server.ts'
import { type Receiver, startReceiver } from '../../src/drivers/web-request/test-receiver.ts'
import { makeToken } from '../kit/people.ts'
import { asPerson, makePeople, type People, type Scene, startScene } from './scene.ts'

let scene: Scene
let people: People
let me: ReturnType<typeof asPerson>
let smtp: TestSmtpServer
let receiver: Receiver
beforeAll(async () => {
  smtp = await startSmtpServer()
  receiver = await startReceiver()
  scene = await startScene({ smtpPort: smtp.port })
})
beforeEach(async () => {
  people = await makePeople(scene)
  me = asPerson(scene, people.member)
  receiver.received.length = 0
  smtp.mails.length = 0
})
afterAll(async () => {
  await scene?.stop()
  await receiver?.[Symbol.asyncDispose]()
  await smtp?.[Symbol.asyncDispose]()
})

const kindsOf = (deliveries: { channelKind: string }[]) => deliveries.map(({ channelKind }) => channelKind).sort()
const mailTo = async (address: string) => {
  const { id } = await me.create({ kind: 'email', label: address, config: { address } })
  await me.change(id, { verified: true })
  return id as string
}
/** The member joins another organisation; returns a token of theirs for it. */
const joinAs = async ({ organizationId }: Pick<People, 'organizationId'>) => {
  const { userId } = people.member
  await scene.database.db.insertInto('members').values({ organizationId, userId, role: 'member', joinedAt: 1 }).execute()
  return makeToken(scene, { userId, organizationId })
}
const setDefault = (category: string, defaultEnabled: boolean) =>
  asPerson(scene, people.owner).ask('PUT /notifications/defaults', { body: { category, defaultEnabled } })

describe('PUT /notifications/subscriptions', () => {
  test('is an idempotent upsert on (category, channelId): the row', async () => {
    const { id: channelId } = await me.create({ kind: 'in_app', label: 'Bell' })
    const first = await me.subscribe('deploy.failed', channelId, false)
    expect(first).toMatchObject({ id: expect.stringMatching(/^nsb_/), category: 'deploy.failed', channelId, enabled: false })
    await scene.pass(10)
    expect(await me.subscribe('deploy.failed', channelId, false)).toEqual(first)
    const turned = await me.subscribe('deploy.failed', channelId, true)
    expect(turned).toMatchObject({ id: first.id, enabled: true, createdAt: first.createdAt })
    expect((await me.ask('GET /notifications/subscriptions')).body.data).toEqual([turned])
  })
  test('404: a channel of another user', async () => {
    const { id: channelId } = await asPerson(scene, people.owner).create({ kind: 'in_app', label: 'Bell' })
    for (const id of [channelId, 'nch_nowhere']) {
      const body = { category: 'deploy.failed', channelId: id, enabled: true }
      expect((await me.ask('PUT /notifications/subscriptions', { body })).status).toBe(404)
    }
  })
  const whole = { category: 'deploy.failed', channelId: 'nch_x', enabled: true }
  test.each([
    ['missing category', { ...whole, category: undefined }, 'category'],
    ['a category that is not in the registry', { ...whole, category: 'deploy.exploded' }, 'category'],
    ['missing channelId', { ...whole, channelId: undefined }, 'channelId'],
    ['missing enabled', { ...whole, enabled: undefined }, 'enabled'],
    ['enabled that is no boolean', { ...whole, enabled: 'true' }, 'enabled'],
  ])('400: %s', async (_, body, field) => {
    const answer = await me.ask('PUT /notifications/subscriptions', { body })
    expect([answer.status, answer.body.field]).toEqual([400, field])
  })
  test('after deleting a subscription the default applies again', async () => {
    const { id: channelId } = await me.create({ kind: 'in_app', label: 'Bell' })
    const { id } = await me.subscribe('deploy.failed', channelId, false)
    await scene.happen(people, 'deploy.failed')
    expect(await me.deliveries({ kind: 'all' })).toEqual([])
    expect((await me.ask('DELETE /notifications/subscriptions/:id', { params: { id } })).status).toBe(204)
    await scene.happen(people, 'deploy.failed')
    expect(kindsOf(await me.deliveries({ kind: 'all' }))).toEqual(['in_app'])
  })
})

describe('PUT /notifications/defaults', () => {
  test('upserts one default of the organisation', async () => {
    const { status, body } = await setDefault('deploy.succeeded', true)
    expect([status, body.data]).toMatchObject([200, { category: 'deploy.succeeded', defaultEnabled: true }])
    await setDefault('deploy.succeeded', false)
    const list = await me.ask('GET /notifications/defaults')
    expect(list.body.data).toMatchObject([{ category: 'deploy.succeeded', defaultEnabled: false }])
    const others = await makePeople(scene)
    expect((await asPerson(scene, others.owner).ask('GET /notifications/defaults')).body.data).toEqual([])
  })
  test('the same value again changes nothing, not even its time', async () => {
    const first = await setDefault('deploy.cancelled', true)
    await scene.pass(1_000)
    expect((await setDefault('deploy.cancelled', true)).body).toEqual(first.body)
  })
  test('the tag asks only for membership', async () => {
    const body = { category: 'deploy.succeeded', defaultEnabled: true }
    expect((await asPerson(scene, people.viewer).ask('PUT /notifications/defaults', { body })).status).toBe(200)
  })
  test.each([
    ['missing category', { defaultEnabled: true }, 'category'],
    ['a category that is not in the registry', { category: 'x', defaultEnabled: true }, 'category'],
    ['missing defaultEnabled', { category: 'deploy.failed' }, 'defaultEnabled'],
    ['defaultEnabled that is no boolean', { category: 'deploy.failed', defaultEnabled: null }, 'defaultEnabled'],
  ])('400: %s', async (_, body, field) => {
    const answer = await me.ask('PUT /notifications/defaults', { body })
    expect([answer.status, answer.body.field]).toEqual([400, field])
  })
})

describe('recipients', () => {
  test('without a subscription, the default of the category sends to the in_app channel and verified e-mail of each member', async () => {
    await mailTo('ada@example.test')
    await scene.happen(people, 'deploy.failed', { subject: 'Deployment 3 failed' })
    expect(kindsOf(await me.deliveries({ kind: 'all' }))).toEqual(['email', 'in_app'])
    expect(smtp.mails.map(({ to, parsed }) => [to, parsed.subject])).toEqual([[['ada@example.test'], 'Deployment 3 failed']])
    for (const who of ['owner', 'admin', 'viewer'] as const)
      expect(kindsOf(await asPerson(scene, people[who]).deliveries())).toEqual(['in_app'])
  })
  test('a category that is off by default is delivered to no user', async () => {
    await mailTo('ada@example.test')
    await scene.happen(people, 'deploy.succeeded')
    expect(await me.deliveries({ kind: 'all' })).toEqual([])
    expect(smtp.mails).toEqual([])
  })
  test('the default of the organisation overrides that of the category, on or off', async () => {
    await setDefault('deploy.succeeded', true)
    await setDefault('deploy.failed', false)
    await scene.happen(people, 'deploy.succeeded')
    await scene.happen(people, 'deploy.failed')
    expect((await me.deliveries({ kind: 'all' })).map(({ category }: { category: string }) => category)).toEqual([
      'deploy.succeeded',
    ])
  })
  test('an explicit opt-out also blocks the default, on its channel', async () => {
    const mail = await mailTo('ada@example.test')
    await me.subscribe('deploy.failed', mail, false)
    await scene.happen(people, 'deploy.failed')
    expect(kindsOf(await me.deliveries({ kind: 'all' }))).toEqual(['in_app'])
    expect(smtp.mails).toEqual([])
  })
  test('an explicit subscription sends a category that is off by default, to its channel only', async () => {
    const hook = await me.webhook(receiver.url)
    await mailTo('ada@example.test')
    await me.subscribe('deploy.succeeded', hook.id)
    await scene.happen(people, 'deploy.succeeded')
    expect(kindsOf(await me.deliveries({ kind: 'all' }))).toEqual(['webhook'])
    expect(receiver.received).toHaveLength(1)
  })
  test('a webhook gets nothing by default', async () => {
    await me.webhook(receiver.url)
    await scene.happen(people, 'deploy.failed')
    expect(kindsOf(await me.deliveries({ kind: 'all' }))).toEqual(['in_app'])
    expect(receiver.received).toEqual([])
  })
  test('unverified or disabled channels get nothing, whatever the subscription says', async () => {
    const unverified = await me.create({ kind: 'webhook', label: 'Hook', config: { url: receiver.url } })
    const disabled = await me.webhook(receiver.url)
    await me.change(disabled.id, { enabled: false })
    for (const { id } of [unverified, disabled]) await me.subscribe('deploy.failed', id)
    await scene.happen(people, 'deploy.failed')
    expect(kindsOf(await me.deliveries({ kind: 'all' }))).toEqual(['in_app'])
    expect(receiver.received).toEqual([])
  })
  test('a channel that becomes unverified or disabled before sending gets nothing, and the delivery has the reason', async () => {
    const hooks = [await me.webhook(receiver.url), await me.webhook(receiver.url)]
    for (const { id } of hooks) await me.subscribe('deploy.succeeded', id)
    const { organizationId } = people
    await scene.database.transaction(({ announce }) =>
      announce('deploy.succeeded', { organizationId, subject: 'Live', text: '' }),
    )
    await scene.jobs.whenIdle()
    await me.change(hooks[0].id, { enabled: false })
    await me.change(hooks[1].id, { config: { url: `${receiver.url}/moved` } })
    await scene.pass(2_000)
    const reasons = (await me.deliveries({ kind: 'all' })).map(({ status, lastError }: { status: string; lastError: string }) => [
      status,
      lastError,
    ])
    expect(reasons.sort()).toEqual([
      ['failed', 'The channel is disabled'],
      ['failed', 'The channel is no longer verified. Test it again.'],
    ])
    expect(receiver.received).toEqual([])
  })
  test('one delivery per channel, also for a user with two in_app channels', async () => {
    await me.create({ kind: 'in_app', label: 'One' })
    await me.create({ kind: 'in_app', label: 'Two' })
    await scene.happen(people, 'deploy.failed')
    expect(kindsOf(await me.deliveries({ kind: 'all' }))).toEqual(['in_app'])
  })
  test('a deleted in_app channel is not created again until its user creates one', async () => {
    await scene.happen(people, 'deploy.failed')
    const [{ id }] = (await me.ask('GET /notifications/channels')).body.data
    expect((await me.ask('DELETE /notifications/channels/:id', { params: { id } })).status).toBe(204)
    await scene.happen(people, 'deploy.failed')
    await scene.happen(people, 'backup.failed')
    expect((await me.ask('GET /notifications/channels')).body.data).toEqual([])
    expect(await me.unseen()).toBe(1)
    const { id: made } = await me.create({ kind: 'in_app', label: 'Bell' })
    await me.subscribe('deploy.failed', made, false)
    await scene.happen(people, 'deploy.failed')
    await scene.happen(people, 'backup.failed')
    expect((await me.deliveries()).map(({ category }: { category: string }) => category)).toEqual([
      'backup.failed',
      'deploy.failed',
    ])
  })
  test('a user who disabled their in_app channel gets nothing', async () => {
    const { id } = await me.create({ kind: 'in_app', label: 'Bell' })
    await me.change(id, { enabled: false })
    await scene.happen(people, 'deploy.failed')
    expect(await me.deliveries({ kind: 'all' })).toEqual([])
  })
  test('an event about one user reaches only that user', async () => {
    await scene.happen(people, 'token.expiring', { userId: people.viewer.userId })
    expect(await me.deliveries({ kind: 'all' })).toEqual([])
    expect(kindsOf(await asPerson(scene, people.viewer).deliveries())).toEqual(['in_app'])
  })
  test('a channel belongs to its user in every organisation; the organisation is part of the subscription', async () => {
    const others = await makePeople(scene)
    const there = asPerson(scene, { token: await joinAs(others) })
    const mail = await mailTo('ada@example.test')
    expect((await there.ask('GET /notifications/channels')).body.data).toEqual(
      (await me.ask('GET /notifications/channels')).body.data,
    )
    await me.subscribe('deploy.failed', mail, false)
    expect((await there.ask('GET /notifications/subscriptions')).body.data).toEqual([])
    const own = await there.subscribe('deploy.succeeded', mail, true)
    expect((await me.ask('DELETE /notifications/subscriptions/:id', { params: { id: own.id } })).status).toBe(404)
    for (const where of [people, others])
      for (const category of ['deploy.failed', 'deploy.succeeded'] as const) await scene.happen(where, category)
    expect(kindsOf(await me.deliveries({ kind: 'all' }))).toEqual(['in_app'])
    expect(kindsOf(await there.deliveries({ kind: 'all' }))).toEqual(['email', 'email', 'in_app'])
    expect((await me.ask('GET /notifications/channels')).body.data).toHaveLength(2)
  })
  test('alerts of two organisations in one channel are never joined into one delivery', async () => {
    const others = await makePeople(scene)
    const there = asPerson(scene, { token: await joinAs(others) })
    await scene.happen(people, 'deploy.failed', { subject: 'Here' }, 15)
    await scene.happen(others, 'deploy.failed', { subject: 'There' })
    await scene.pass(60_000)
    expect((await there.deliveries()).map(({ subject }: { subject: string }) => subject)).toEqual(['There'])
    for (const { subject } of await me.deliveries()) expect(subject).toContain('Here')
  })
  test('members of another organisation are not notified', async () => {
    const others = await makePeople(scene)
    await scene.happen(people, 'deploy.failed')
    expect(await asPerson(scene, others.owner).deliveries()).toEqual([])
  })
  test('accepting an invitation announces member.joined', async () => {
    const { id } = await me.create({ kind: 'in_app', label: 'Bell' })
    await me.subscribe('member.joined', id)
    const invitation = await asPerson(scene, people.owner).ask('POST /invitations', {
      body: { email: 'new@example.test', role: 'viewer' },
    })
    const { code } = invitation.body.data
    const body = { code, email: 'new@example.test', password: 'long enough to be good' }
    await me.ask('POST /invitations/accept', { body })
    await scene.jobs.whenIdle()
    expect(await me.deliveries({ kind: 'all' })).toMatchObject([
      { category: 'member.joined', subject: 'new@example.test joined', status: 'sent' },
    ])
  })
})
