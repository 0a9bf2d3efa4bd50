// gate: also on PostgreSQL, since what is joined is written as one JSON document
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Received, startReceiver } from '../../src/drivers/web-request/test-receiver.ts'
import { asPerson, makePeople, minutes, type People, type Scene, seconds, startScene } from './scene.ts'

let scene: Scene
let people: People
let me: ReturnType<typeof asPerson>
beforeAll(async () => {
  scene = await startScene()
})
beforeEach(async () => {
  people = await makePeople(scene)
  me = asPerson(scene, people.member)
})
afterAll(() => scene?.stop())

const hooked = async (url: string, ...categories: ('backup.succeeded' | 'deploy.succeeded')[]) => {
  const { id } = await me.webhook(url)
  for (const category of categories) await me.subscribe(category, id)
  return id as string
}
const subjects = (received: readonly Received[]) => received.map(({ body }) => JSON.parse(body).subject)
const countIn = (received: readonly Received[]) => received.reduce((sum, { body }) => sum + (JSON.parse(body).data.count ?? 1), 0)

describe('more than 10 deliveries of one category to one channel within a minute are joined into one', () => {
  test('ten are sent separately', async () => {
    await using receiver = await startReceiver()
    await hooked(receiver.url, 'backup.succeeded')
    await scene.happen(people, 'backup.succeeded', {}, 10)
    expect(receiver.received).toHaveLength(10)
    expect(await me.deliveries({ kind: 'all' })).toHaveLength(10)
  })

  test('eleven are joined into one, with all of them in its data, and one entry in the list', async () => {
    await using receiver = await startReceiver()
    await hooked(receiver.url, 'backup.succeeded')
    await scene.happen(people, 'backup.succeeded', {}, 11)
    expect(receiver.received).toHaveLength(1)
    const [{ headers, body }] = receiver.received as [Received]
    const { id, subject, data } = JSON.parse(body)
    expect(headers['berth-delivery']).toBe(id)
    expect(subject).toBe('It happened (1), and 10 more')
    expect(data.count).toBe(11)
    expect(data.messages.map((one: { subject: string }) => one.subject)).toEqual(
      Array.from({ length: 11 }, (_, at) => `It happened (${at + 1})`),
    )
    expect(new Set(data.messages.map((one: { id: string }) => one.id)).size).toBe(11)
    expect(await me.deliveries({ kind: 'all' })).toMatchObject([
      { id, status: 'sent', subject: 'It happened (1), and 10 more', attempts: 1 },
    ])
  })

  test('each category and channel is counted separately', async () => {
    await using receiver = await startReceiver()
    await using other = await startReceiver()
    await hooked(receiver.url, 'backup.succeeded', 'deploy.succeeded')
    await hooked(other.url, 'deploy.succeeded')
    await scene.happen(people, 'backup.succeeded', {}, 8)
    await scene.happen(people, 'deploy.succeeded', {}, 8)
    expect([receiver.received.length, other.received.length]).toEqual([16, 8])
  })

  test('deliveries after the tenth wait for the end of the minute and are sent as one', async () => {
    await using receiver = await startReceiver()
    await hooked(receiver.url, 'backup.succeeded')
    for (let at = 0; at < 10; at++) await scene.happen(people, 'backup.succeeded', { subject: `Single ${at}` })
    expect(receiver.received).toHaveLength(10)
    for (let at = 0; at < 5; at++) await scene.happen(people, 'backup.succeeded', { subject: `Late ${at}` })
    expect(receiver.received).toHaveLength(10)
    await scene.pass(1 * minutes)
    expect(subjects(receiver.received.slice(10))).toEqual(['Late 0, and 4 more'])
  })

  test('a continuing flood is one message per minute, and no event is lost', async () => {
    await using receiver = await startReceiver()
    await hooked(receiver.url, 'backup.succeeded')
    for (let round = 0; round < 12; round++) {
      await scene.happen(people, 'backup.succeeded', {}, 20)
      await scene.pass(13 * seconds)
    }
    // Three minutes of 80 a minute: the first at once, then one each minute.
    expect(receiver.received.length).toBeLessThanOrEqual(4)
    await scene.pass(2 * minutes)
    expect(countIn(receiver.received)).toBe(240)
    expect(receiver.received.length).toBeLessThanOrEqual(5)
    // After a quiet minute it is as before.
    await scene.pass(1 * minutes)
    const before = receiver.received.length
    await scene.happen(people, 'backup.succeeded', { subject: 'Alone again' })
    expect(subjects(receiver.received.slice(before))).toEqual(['Alone again'])
  })

  test('a failed digest is retried with the same content and id', async () => {
    let broken = true
    await using receiver = await startReceiver((response) => response.writeHead(broken ? 500 : 200).end())
    await hooked(receiver.url, 'backup.succeeded')
    await scene.happen(people, 'backup.succeeded', {}, 12)
    await scene.happen(people, 'backup.succeeded', { subject: 'Too late for it' })
    broken = false
    await scene.pass(20 * seconds)
    const [first, second] = receiver.received as [Received, Received]
    expect(receiver.received).toHaveLength(2)
    expect(second.body).toBe(first.body)
    expect(second.headers['berth-delivery']).toBe(first.headers['berth-delivery'])
    await scene.pass(2 * minutes)
    expect(subjects(receiver.received.slice(2))).toEqual(['Too late for it'])
  })

  test('the feed has ten entries and then one for the rest of the minute', async () => {
    await me.create({ kind: 'in_app', label: 'Bell' })
    await scene.happen(people, 'deploy.failed', {}, 30)
    expect(await me.unseen()).toBe(10)
    await scene.pass(1 * minutes)
    const [newest, ...rest] = await me.deliveries({ unseen: true })
    expect(newest).toMatchObject({ status: 'sent', subject: 'It happened (11), and 19 more', channelKind: 'in_app' })
    expect(rest).toHaveLength(10)
    expect(await me.unseen()).toBe(11)
  })

  test('deleting or disabling a channel ends its waiting digests', async () => {
    await using receiver = await startReceiver()
    const id = await hooked(receiver.url, 'backup.succeeded')
    for (let at = 0; at < 10; at++) await scene.happen(people, 'backup.succeeded')
    await scene.happen(people, 'backup.succeeded', {}, 3)
    await me.change(id, { enabled: false })
    await scene.pass(2 * minutes)
    expect(receiver.received).toHaveLength(10)
    const ended = await scene.database.db
      .selectFrom('deliveries')
      .select('lastError')
      .where('channelId', '=', id)
      .where('status', '=', 'failed')
      .execute()
    expect(ended).toEqual([{ lastError: 'The channel is disabled' }])
  })
})
