// gate: also on PostgreSQL, since two workers send from one table
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { reachOf } from '../../src/drivers/web-request/address-reach.ts'
import { publicNames } from '../../src/drivers/web-request/resolve.ts'
import { startNameServer } from '../../src/drivers/web-request/test-name-server.ts'
import { type Received, startReceiver } from '../../src/drivers/web-request/test-receiver.ts'
import { createWebRequest, type WebRequest } from '../../src/drivers/web-request/web-request.ts'
import { type Announcement, announceKind } from '../../src/platform/jobs/announce.ts'
import {
  asPerson,
  hours,
  loopback,
  makePeople,
  minutes,
  type People,
  type Scene,
  seconds,
  startScene,
  withLimit,
} from './scene.ts'

let scene: Scene
let people: People
let me: ReturnType<typeof asPerson>
let webRequest: WebRequest = loopback
beforeAll(async () => {
  scene = await startScene({ webRequest: { send: (request) => webRequest.send(request) } })
})
beforeEach(async () => {
  webRequest = loopback
  people = await makePeople(scene)
  me = asPerson(scene, people.member)
})
afterAll(() => scene?.stop())

const idsOf = (received: readonly Received[]) => received.map(({ headers }) => headers['berth-delivery'])
const hooked = async (url: string, more: object = {}) => {
  const channel = await me.webhook(url, more)
  await me.subscribe('backup.succeeded', channel.id)
  return channel
}
const happen = () => scene.happen(people, 'backup.succeeded', { subject: 'Backup stored', data: { runId: 'bkr_1' } })
const delivery = async () => (await me.deliveries({ kind: 'all' }))[0]
const failing = () => startReceiver((response) => response.writeHead(500).end('canary-internals'))

/** Everything that the instance has stored. */
const records = async () => {
  const tables = ['deliveries', 'announcements', 'jobs', 'auditLog', 'notificationChannels'] as const
  return JSON.stringify(await Promise.all(tables.map((table) => scene.database.db.selectFrom(table).selectAll().execute())))
}

describe('a webhook delivery', () => {
  test('has the JSON and the headers of the contract, and is recorded as sent', async () => {
    await using receiver = await startReceiver()
    await hooked(receiver.url)
    await happen()
    const sent = await delivery()
    expect(sent).toMatchObject({
      id: expect.stringMatching(/^ndl_[a-z2-7]{20}$/),
      category: 'backup.succeeded',
      channelKind: 'webhook',
      status: 'sent',
      attempts: 1,
      subject: 'Backup stored',
      text: 'And this is how.',
      projectId: null,
      lastError: null,
      seenAt: null,
    })
    expect(sent.sentAt).not.toBeNull()
    const [{ headers, body }] = receiver.received as [Received]
    expect(headers).toMatchObject({ 'berth-event': 'backup.succeeded', 'berth-delivery': sent.id })
    expect(headers['berth-signature']).toMatch(/^t=\d+,v1=[0-9a-f]{64}$/)
    expect(JSON.parse(body)).toEqual({
      id: sent.id,
      category: 'backup.succeeded',
      organizationId: people.organizationId,
      subject: 'Backup stored',
      text: 'And this is how.',
      data: { runId: 'bkr_1' },
      createdAt: expect.stringMatching(/Z$/),
    })
  })
})

describe('a receiver that answers 500', () => {
  test('is called 8 times with growing pauses and one id, then the delivery fails with a readable reason', async () => {
    await using receiver = await failing()
    await hooked(receiver.url)
    await happen()
    expect(await delivery()).toMatchObject({
      status: 'queued',
      attempts: 1,
      lastError: 'The receiver answered 500 Internal Server Error',
    })
    const pauses = [17 * seconds, 70 * seconds, 6 * minutes, 17 * minutes, 67 * minutes, 3.5 * hours, 9 * hours]
    for (const [at, pause] of pauses.entries()) {
      // Not too early: a tenth of the pause is not enough.
      await scene.pass(pause / 10)
      expect(receiver.received).toHaveLength(at + 1)
      await scene.pass(pause)
      expect(receiver.received).toHaveLength(at + 2)
    }
    await scene.pass(48 * hours)
    expect(await delivery()).toMatchObject({ status: 'failed', attempts: 8, sentAt: null })
    expect(receiver.received).toHaveLength(8)
    expect(new Set(idsOf(receiver.received))).toEqual(new Set([(await delivery()).id]))
    expect(await records()).not.toContain('canary-internals')
  })
  test('that recovers gets the delivery at the next attempt', async () => {
    let broken = true
    await using receiver = await startReceiver((response) => response.writeHead(broken ? 503 : 200).end())
    await hooked(receiver.url)
    await happen()
    broken = false
    await scene.pass(20 * seconds)
    expect(await delivery()).toMatchObject({ status: 'sent', attempts: 2, lastError: null })
  })
  test('the Retry-After of the receiver is respected', async () => {
    await using receiver = await startReceiver((response) => response.writeHead(503, { 'retry-after': '600' }).end())
    await hooked(receiver.url)
    await happen()
    await scene.pass(9 * minutes)
    expect(receiver.received).toHaveLength(1)
    await scene.pass(2 * minutes)
    expect(receiver.received).toHaveLength(2)
  })
  test('410 ends the attempts at once', async () => {
    await using receiver = await startReceiver((response) => response.writeHead(410).end())
    await hooked(receiver.url)
    await happen()
    await scene.pass(24 * hours)
    expect(await delivery()).toMatchObject({ status: 'failed', attempts: 1, lastError: 'The receiver answered 410 Gone' })
  })
})

describe('a receiver that times out', () => {
  test('is retried after the time limit; other deliveries do not wait for it', async () => {
    await using hanging = await startReceiver(() => {})
    await using quick = await startReceiver()
    await hooked(hanging.url)
    await hooked(quick.url)
    await happen()
    expect(quick.received).toHaveLength(1)
    const [slow] = (await me.deliveries({ kind: 'all' })).filter(({ status }: { status: string }) => status === 'queued')
    expect(slow).toMatchObject({ attempts: 1, lastError: '127.0.0.1 did not answer within 1 seconds' })
    await scene.pass(20 * seconds)
    expect(hanging.received).toHaveLength(2)
  })
})

describe('a receiver that redirects to loopback', () => {
  test('is not followed, and the reason says what to do', async () => {
    await using inside = await startReceiver()
    await using outside = await startReceiver((response) => response.writeHead(307, { location: `${inside.url}/admin` }).end())
    await hooked(outside.url)
    await happen()
    await scene.pass(20 * seconds)
    expect([outside.received.length, inside.connections]).toEqual([2, 0])
    expect((await delivery()).lastError).toBe(
      'The receiver answered 307 with a redirect, which is not followed: enter the address it leads to',
    )
  })
})

describe('a receiver that changes its DNS answer', () => {
  test('to an internal address is not contacted, is retried, and gets its message when the answer is public again', async () => {
    // 127.0.0.2 plays the public address, so that the test needs no other machine.
    const validate = (address: string) => (address === '127.0.0.2' ? 'public' : reachOf(address))
    await using inside = await startReceiver()
    await using outside = await startReceiver(undefined, { host: '127.0.0.2', port: inside.port })
    let answer = ['127.0.0.2']
    await using names = await startNameServer(() => answer)
    webRequest = withLimit(
      createWebRequest({ allowPrivate: false, classify: validate, resolve: publicNames([names.address]) }),
      5_000,
    )

    const { id } = await me.create({
      kind: 'webhook',
      label: 'Hook',
      config: { url: `http://hooks.test:${inside.port}/canary-path` },
    })
    expect((await me.test(id)).body.data.verified).toBe(true)
    await me.subscribe('backup.succeeded', id)
    answer = ['127.0.0.1']
    await happen()
    await scene.pass(20 * seconds)
    expect(await delivery()).toMatchObject({
      status: 'queued',
      attempts: 2,
      lastError: 'hooks.test is inside a private or reserved network, where this instance does not send',
    })
    expect([inside.connections, outside.connections]).toEqual([0, 1])
    answer = ['127.0.0.2']
    await scene.pass(2 * minutes)
    expect(await delivery()).toMatchObject({ status: 'sent', attempts: 3 })
    expect([inside.connections, outside.connections]).toEqual([0, 2])
  })
  test('a private address is refused permanently, without a retry', async () => {
    webRequest = createWebRequest({ allowPrivate: false })
    await using inside = await startReceiver()
    await hooked(inside.url)
    await happen()
    expect(await delivery()).toMatchObject({ status: 'failed', attempts: 1 })
    expect(inside.connections).toBe(0)
  })
})

describe('secrets of a delivery', () => {
  test('are in no reason, record or reply, even if the receiver echoes them', async () => {
    const secret = 'canary-signing-secret'
    await using receiver = await startReceiver((response, { headers }) => {
      response.writeHead(500, { 'x-echo': 'canary-signing-secret' }).end(`canary-signing-secret ${headers['berth-signature']}`)
    })
    await hooked(`${receiver.url}/in`, { secret })
    await happen()
    expect((await delivery()).lastError).toBe('The receiver answered 500 Internal Server Error')
    expect(await records()).not.toContain(secret)
    expect(JSON.stringify(await me.ask('GET /notifications/deliveries'))).not.toContain(secret)
  })
})

describe('no delivery is lost', () => {
  test('announcing again after a crash creates no second delivery', async () => {
    await using receiver = await startReceiver()
    await hooked(receiver.url)
    await happen()
    const { db, signals } = scene.database
    // The process died after its commit and before its result was stored.
    await db
      .updateTable('jobs')
      .set({ status: 'queued', finishedAt: null, leaseToken: null, leaseUntil: null })
      .where('kind', '=', 'notifications.announce')
      .execute()
    signals.publish('jobs', { due: true })
    await scene.jobs.whenIdle()
    await scene.pass(2 * seconds)
    expect(receiver.received).toHaveLength(1)
    expect(await me.deliveries({ kind: 'all' })).toHaveLength(1)
  })

  test('a delivery interrupted by the end of its process is sent again by the same job, with the same id', async () => {
    await using receiver = await startReceiver()
    await hooked(receiver.url)
    await happen()
    const { db, signals } = scene.database
    const { id } = await delivery()
    const { jobId } = await db.selectFrom('deliveries').select('jobId').where('id', '=', id).executeTakeFirstOrThrow()
    await db.updateTable('deliveries').set({ status: 'sending', sentAt: null }).where('id', '=', id).execute()
    await db.updateTable('jobs').set({ status: 'queued', finishedAt: null }).where('id', '=', jobId).execute()
    signals.publish('jobs', { due: true })
    await scene.jobs.whenIdle()
    expect(await delivery()).toMatchObject({ id, status: 'sent', attempts: 2 })
    expect(idsOf(receiver.received)).toEqual([id, id])
  })

  test('a delivery interrupted during its last attempt is not sent a ninth time', async () => {
    await using receiver = await startReceiver()
    await hooked(receiver.url)
    await happen()
    const { db, signals } = scene.database
    const { id } = await delivery()
    const { jobId } = await db.selectFrom('deliveries').select('jobId').where('id', '=', id).executeTakeFirstOrThrow()
    await db.updateTable('deliveries').set({ status: 'sending', attempts: 8 }).where('id', '=', id).execute()
    await db.updateTable('jobs').set({ status: 'queued', finishedAt: null }).where('id', '=', jobId).execute()
    signals.publish('jobs', { due: true })
    await scene.jobs.whenIdle()
    expect(await delivery()).toMatchObject({
      status: 'failed',
      attempts: 8,
      lastError: 'Berth stopped during the last attempt',
    })
    expect(receiver.received).toHaveLength(1)
  })

  test('a late job of an earlier attempt sends nothing', async () => {
    await using receiver = await failing()
    await hooked(receiver.url)
    await happen()
    const { db, signals } = scene.database
    const { id } = await delivery()
    const first = await db
      .selectFrom('jobs')
      .select('id')
      .where('kind', '=', 'notifications.deliver')
      .where('status', '=', 'succeeded')
      .where('payload', 'like', `%${id}%`)
      .executeTakeFirstOrThrow()
    await db.updateTable('jobs').set({ status: 'queued', finishedAt: null }).where('id', '=', first.id).execute()
    signals.publish('jobs', { due: true })
    await scene.jobs.whenIdle()
    expect(receiver.received).toHaveLength(1)
    expect(await delivery()).toMatchObject({ status: 'queued', attempts: 1 })
  })

  test('a stopping server completes running deliveries, and they are not sent again', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const other = await startScene()
    try {
      const others = await makePeople(other)
      const they = asPerson(other, others.member)
      await using receiver = await startReceiver(async (response) => {
        await promise
        response.end()
      })
      const { id } = await they.webhook(receiver.url)
      await they.subscribe('backup.succeeded', id)
      await other.database.transaction(({ announce }) =>
        announce('backup.succeeded', { organizationId: others.organizationId, subject: 'x', text: '' }),
      )
      while (receiver.received.length === 0) await new Promise((later) => setTimeout(later, 20))
      const stopping = other.jobs.stop({ graceMs: 5_000 })
      resolve()
      await stopping
      expect(await they.deliveries({ kind: 'all' })).toMatchObject([{ status: 'sent', attempts: 1 }])
    } finally {
      await other.stop()
    }
  })

  test('an announcement that cannot be delivered delays others for one attempt at most', async () => {
    await using receiver = await startReceiver()
    await hooked(receiver.url)
    const { organizationId } = people
    await scene.database.transaction(async ({ announce, enqueue }) => {
      await announce('backup.succeeded', { organizationId, subject: 'Before it', text: '' })
      // The announcement has no text, which regular callers cannot cause.
      await enqueue(announceKind, { category: 'backup.succeeded', organizationId, at: 0 } as Announcement)
      await announce('backup.succeeded', { organizationId, subject: 'After it', text: '' })
    })
    await scene.jobs.whenIdle()
    for (let at = 0; at < 3; at++) await scene.pass(3 * seconds)
    expect(receiver.received.map(({ body }) => JSON.parse(body).subject).sort()).toEqual(['After it', 'Before it'])
  })

  test('deleting a channel ends its waiting deliveries, and the feed keeps them', async () => {
    await using receiver = await failing()
    const { id } = await hooked(receiver.url)
    await happen()
    await me.ask('DELETE /notifications/channels/:id', { params: { id } })
    await scene.pass(1 * hours)
    expect(await delivery()).toMatchObject({ status: 'failed', lastError: 'The channel was deleted' })
    expect(receiver.received).toHaveLength(1)
  })
})

describe('no delivery is sent twice', () => {
  test('two workers on one database send each delivery once', async () => {
    if (scene.database.kind === 'sqlite') return // one process owns the file; the claim is the same
    const counts = new Map<unknown, number>()
    await using receiver = await startReceiver((response, { headers }) => {
      const id = headers['berth-delivery']
      counts.set(id, (counts.get(id) ?? 0) + 1)
      setTimeout(() => response.end(), 5)
    })
    for (let at = 0; at < 10; at++) await hooked(receiver.url)
    const second = await scene.startSecond()
    await scene.happen(people, 'backup.succeeded', {}, 10)
    await expect.poll(() => counts.size).toBe(100)
    await second.stop()
    expect(Math.max(...counts.values())).toBe(1)
  })
})
