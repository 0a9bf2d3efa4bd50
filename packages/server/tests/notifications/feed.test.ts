// gate: also on PostgreSQL, since pages go on at a cursor
import { contract } from '@berth/contract'
import { createClient } from '@berth/contract/client'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startReceiver } from '../../src/drivers/web-request/test-receiver.ts'
import { makeToken } from '../kit/people.ts'
import { asPerson, makePeople, type People, type Scene, startScene } from './scene.ts'

let scene: Scene
let people: People
let me: ReturnType<typeof asPerson>
let baseUrl: string
beforeAll(async () => {
  scene = await startScene()
  baseUrl = await scene.app.listen({ host: '127.0.0.1', port: 0 })
})
beforeEach(async () => {
  people = await makePeople(scene)
  me = asPerson(scene, people.member)
})
afterAll(() => scene?.stop())

const seen = (id: string, who = me) => who.ask('POST /notifications/deliveries/:id/seen', { params: { id } })
/** Announces one after another, so that their order is known. */
const happenOften = async (times: number) => {
  const categories = [
    'deploy.failed',
    'backup.failed',
    'restore.failed',
    'domain.failed',
    'git.disconnected',
    'backup.missed',
  ] as const
  for (let at = 0; at < times; at++) await scene.happen(people, categories[at % categories.length]!, { subject: `Alert ${at}` })
}

describe('GET /notifications/deliveries', () => {
  test('a member without any channel has a feed', async () => {
    await scene.happen(people, 'deploy.failed', { projectId: 'prj_gone' })
    expect(await me.deliveries()).toMatchObject([
      { category: 'deploy.failed', channelKind: 'in_app', status: 'sent', attempts: 1, projectId: 'prj_gone', seenAt: null },
    ])
    const { body } = await me.ask('GET /notifications/channels')
    expect(body.data).toMatchObject([{ kind: 'in_app', verified: true, enabled: true }])
    await scene.happen(people, 'deploy.failed')
    expect((await me.ask('GET /notifications/channels')).body.data).toHaveLength(1)
  })
  test('newest first; `limit` and `cursor` return all of them in pages', async () => {
    await happenOften(5)
    const subjects: string[] = []
    let cursor: string | undefined
    do {
      const { body } = await me.ask('GET /notifications/deliveries', { query: { limit: 2, ...(cursor ? { cursor } : {}) } })
      expect(body.data.length).toBeLessThanOrEqual(2)
      subjects.push(...body.data.map(({ subject }: { subject: string }) => subject))
      cursor = body.nextCursor
    } while (cursor)
    expect(subjects).toEqual(['Alert 4', 'Alert 3', 'Alert 2', 'Alert 1', 'Alert 0'])
  })
  test('`limit` is 50 by default and 200 at most', async () => {
    const { db } = scene.database
    await happenOften(1)
    const [first] = await db.selectFrom('deliveries').selectAll().where('userId', '=', people.member.userId).execute()
    const copies = Array.from({ length: 60 }, (_, at) => ({ ...first!, id: `${first!.id}${at}`, channelId: `nch_${at}` }))
    await db.insertInto('deliveries').values(copies).execute()
    expect(await me.deliveries()).toHaveLength(50)
    expect(await me.deliveries({ limit: 200 })).toHaveLength(61)
    for (const limit of [0, 201, 'many']) {
      const { status, body } = await me.ask('GET /notifications/deliveries', { query: { limit } })
      expect([status, body.field]).toEqual([400, 'limit'])
    }
  })
  test('`unseen=true` omits seen deliveries; `unseen=false` does not', async () => {
    await happenOften(3)
    const [newest] = await me.deliveries()
    await seen(newest.id)
    expect((await me.deliveries({ unseen: true })).map(({ subject }: { subject: string }) => subject)).toEqual([
      'Alert 1',
      'Alert 0',
    ])
    expect(await me.deliveries({ unseen: false })).toHaveLength(3)
    expect((await me.ask('GET /notifications/deliveries', { query: { unseen: 'perhaps' } })).body.field).toBe('unseen')
  })
  describe('is the in-app feed; `kind` selects other channels', () => {
    test.each<[Record<string, string | number | boolean>, string[]]>([
      [{}, ['in_app']],
      [{ limit: 1 }, ['in_app']],
      [{ unseen: true }, ['in_app']],
      [{ kind: 'in_app' }, ['in_app']],
      [{ kind: 'webhook' }, ['webhook', 'webhook']],
      [{ kind: 'webhook', unseen: true }, ['webhook', 'webhook']],
      [{ kind: 'email' }, []],
      [{ kind: 'slack' }, []],
      [{ kind: 'all' }, ['in_app', 'webhook', 'webhook']],
    ])('%o: %o', async (query, kinds) => {
      await using receiver = await startReceiver()
      for (const { id } of [await me.webhook(receiver.url), await me.webhook(`${receiver.url}/2`)])
        await me.subscribe('deploy.failed', id)
      await scene.happen(people, 'deploy.failed')
      const found = await me.deliveries(query)
      expect(found.map(({ channelKind }: { channelKind: string }) => channelKind).sort()).toEqual(kinds)
      expect(await me.unseen()).toBe(1)
    })
    test('400 names a kind that does not exist', async () => {
      const { status, body } = await me.ask('GET /notifications/deliveries', { query: { kind: 'sms' } })
      expect([status, body.field]).toEqual([400, 'kind'])
    })
  })
  test('a token limited to projects sees only events of these projects', async () => {
    for (const projectId of ['prj_one', 'prj_two', null]) await scene.happen(people, 'deploy.failed', { projectId })
    const limited = asPerson(scene, { token: await makeToken(scene, people.member, { projectIds: ['prj_one'] }) })
    expect(await limited.deliveries()).toMatchObject([{ projectId: 'prj_one' }])
    expect(await limited.unseen()).toBe(1)
    const [, other] = await me.deliveries()
    expect((await seen(other.id, limited)).status).toBe(404)
    // A combined delivery may contain other projects, whichever it began with.
    await scene.happen(people, 'deploy.failed', { projectId: 'prj_one' }, 20)
    await scene.pass(60_000)
    expect((await me.deliveries({ limit: 1 }))[0].subject).toMatch(/and \d+ more$/)
    for (const { subject } of await limited.deliveries()) expect(subject).not.toMatch(/more$/)
  })
})

describe('POST /notifications/deliveries/:id/seen', () => {
  test('marks a delivery as seen; the first time stays', async () => {
    await happenOften(2)
    expect(await me.unseen()).toBe(2)
    const [newest] = await me.deliveries()
    const first = await seen(newest.id)
    expect([first.status, first.body.data.id]).toEqual([200, newest.id])
    expect(first.body.data.seenAt).not.toBeNull()
    await scene.pass(1_000)
    expect((await seen(newest.id)).body.data.seenAt).toBe(first.body.data.seenAt)
    expect(await me.unseen()).toBe(1)
    expect(await asPerson(scene, people.owner).unseen()).toBe(2)
  })
})

describe('GET /notifications/stream', () => {
  const open = (token: string, lastEventId?: string) => {
    const controller = new AbortController()
    const client = createClient({ baseUrl, token })
    const events = client.stream(contract.notifications.streamDeliveries, {
      abort: controller.signal,
      ...(lastEventId ? { lastEventId } : {}),
    })
    const next = async () => {
      const { value, done } = await events.next()
      if (done) throw new Error('the stream has ended')
      // biome-ignore lint/suspicious/noExplicitAny: each test says what it expects to find in it
      return value as { event: string; id: string | null; data: any }
    }
    return { next, close: () => controller.abort() }
  }

  test('snapshot with the unseen count, then each in-app delivery, then deliveries marked as seen', async () => {
    await happenOften(1)
    const stream = open(people.member.token)
    expect(await stream.next()).toMatchObject({ event: 'snapshot', data: { count: 1 } })
    await scene.happen(people, 'backup.failed', { subject: 'New one' })
    const delivery = await stream.next()
    expect(delivery).toMatchObject({ event: 'delivery', data: { subject: 'New one', channelKind: 'in_app', status: 'sent' } })
    expect(delivery.id).toBe(delivery.data.id)
    await seen(delivery.data.id)
    expect(await stream.next()).toMatchObject({ event: 'seen', data: { id: delivery.data.id, count: 1 } })
    stream.close()
  })
  test('events of other users are not sent', async () => {
    const stream = open(people.member.token)
    await stream.next()
    await scene.happen(people, 'token.expiring', { userId: people.owner.userId, subject: 'Theirs' })
    await scene.happen(await makePeople(scene), 'deploy.failed', { subject: 'CloudProxy' })
    await scene.happen(people, 'deploy.failed', { subject: 'Mine' })
    expect(await stream.next()).toMatchObject({ event: 'delivery', data: { subject: 'Mine' } })
    stream.close()
  })
  test('a reader that resumes with Last-Event-ID gets the missed events, and none twice', async () => {
    const first = open(people.member.token)
    await first.next()
    await scene.happen(people, 'deploy.failed', { subject: 'Before' })
    const { id } = await first.next()
    first.close()
    await scene.happen(people, 'backup.failed', { subject: 'Meanwhile' })
    const second = open(people.member.token, id!)
    expect(await second.next()).toMatchObject({ event: 'snapshot', data: { count: 2 } })
    expect(await second.next()).toMatchObject({ event: 'delivery', data: { subject: 'Meanwhile' } })
    await scene.happen(people, 'restore.failed', { subject: 'After' })
    expect(await second.next()).toMatchObject({ event: 'delivery', data: { subject: 'After' } })
    second.close()
  })
  test('after lost signals the stream reads again: each delivery is sent once, with the count', async () => {
    const stream = open(people.member.token)
    await stream.next()
    await scene.happen(people, 'deploy.failed', { subject: 'Heard of twice' })
    scene.database.signals.publish(`notifications:${people.organizationId}`, { reread: true })
    expect(await stream.next()).toMatchObject({ event: 'delivery', data: { subject: 'Heard of twice' } })
    expect(await stream.next()).toMatchObject({ event: 'snapshot', data: { count: 1 } })
    stream.close()
  })
  test('401 without a credential, as an ordinary JSON response', async () => {
    expect((await fetch(`${baseUrl}/api/notifications/stream`)).status).toBe(401)
  })
})
