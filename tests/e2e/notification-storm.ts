import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { contract } from '@berth/contract'
import { createClient } from '@berth/contract/client'
import type { TestDatabase } from '../../packages/server/src/platform/test-database.ts'
import { makePeople } from '../../packages/server/tests/kit/people.ts'
import { type Berth, startBerth } from '../kit/start-berth.ts'

/**
 * A worker and an API process on one PostgreSQL, many webhook deliveries, and one of the two killed with -9 again and again. Only one
 * machine may run jobs: the worker is the one that is killed, and its next process must continue its deliveries.
 */
export interface StormOptions {
  database: TestDatabase
  /** Each gets 20 deliveries: ten of each of two categories, the maximum that is not joined into a digest. */
  channels: number
  kills: number
  withinMs: number
}

export interface StormResult {
  deliveries: { id: string; status: string; attempts: number }[]
  /** The arrival time of each id, by the clock of this process. */
  receipts: Map<string, number[]>
  badSignatures: number
  killedAt: number[]
  /** The number of deliveries that had arrived at the last kill. */
  receivedAtLastKill: number
  tookMs: number
  output: string
}

const eventsPerCategory = 10
const categories = ['deploy.succeeded', 'backup.succeeded'] as const

export async function runStorm(options: StormOptions): Promise<StormResult> {
  const { database, channels, kills, withinMs } = options
  const env = {
    BERTH_DATABASE_URL: database.settings.url!,
    BERTH_SECRET_KEY: 'ab'.repeat(32),
    BERTH_ALLOW_PRIVATE_WEBHOOKS: 'true',
    // Longer than a busy machine may keep a living server from its heartbeat.
    BERTH_JOB_LEASE_SECONDS: '5',
    BERTH_RUNTIME: 'process',
  }
  await using receiver = await startCounter()
  await using shaky = await startBerth({ env })
  await using steady = await startBerth({ env: { ...env, BERTH_ROLE: 'api', BERTH_WORKER_URL: shaky.url } })
  const organizationId = await prepareChannels(database, steady, receiver, channels)

  const began = performance.now()
  for (let event = 0; event < eventsPerCategory; event++) await announceAll(database, organizationId, event)
  const total = channels * categories.length * eventsPerCategory
  const killing = killAgainAndAgain(shaky, receiver, kills, total)
  const deliveries = await untilAllEnded(database, total, began + withinMs)
  const tookMs = performance.now() - began
  const { killedAt, receivedAtLastKill } = await killing
  const output = steady.output() + shaky.output()
  return {
    deliveries,
    receipts: receiver.receipts,
    badSignatures: receiver.badSignatures,
    killedAt,
    receivedAtLastKill,
    tookMs,
    output,
  }
}

export interface Counter extends AsyncDisposable {
  /** How long it takes for an answer. */
  answerMs: number
  url: string
  receipts: Map<string, number[]>
  received: number
  badSignatures: number
  /** The signing secret of each path. */
  secrets: Map<string, string>
}

const quickMs = 30
/** The last deliveries before a kill are slow, so that the next kill finds work as well. */
const slowMs = 400

/** Counts the ids of deliveries and checks every signature. */
export async function startCounter(): Promise<Counter> {
  const server = createServer({ keepAlive: false }, async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const id = String(request.headers['berth-delivery'])
    counter.receipts.set(id, [...(counter.receipts.get(id) ?? []), performance.now()])
    counter.received++
    const secret = counter.secrets.get(request.url ?? '') ?? ''
    if (!isSigned(secret, String(request.headers['berth-signature']), Buffer.concat(chunks))) counter.badSignatures++
    setTimeout(() => response.end(), counter.answerMs)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const counter: Counter = {
    answerMs: quickMs,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    receipts: new Map(),
    received: 0,
    badSignatures: 0,
    secrets: new Map(),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return counter
}

function isSigned(secret: string, header: string, body: Buffer): boolean {
  const [, time = '', hex = ''] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(header) ?? []
  const expected = createHmac('sha256', secret).update(`${time}.`).update(body).digest()
  return hex !== '' && timingSafeEqual(expected, Buffer.from(hex, 'hex'))
}

export async function prepareChannels(database: TestDatabase, berth: Berth, receiver: Counter, count: number): Promise<string> {
  const people = await makePeople({ database })
  const tokens = [people.owner, people.admin, people.member, people.viewer].map(({ token }) => token)
  const prepare = async (at: number) => {
    const { call } = createClient({ baseUrl: berth.url, token: tokens[at % tokens.length]! })
    const path = `/hook-${at}`
    const config = { url: receiver.url + path }
    const { data } = await call(contract.notifications.createChannel, { body: { kind: 'webhook', label: path, config } })
    receiver.secrets.set(path, data.secret!)
    await call(contract.notifications.updateChannel, { params: { id: data.id }, body: { verified: true } })
    for (const category of categories)
      await call(contract.notifications.putSubscription, { body: { category, channelId: data.id, enabled: true } })
  }
  for (let at = 0; at < count; at += 4) await Promise.all([at, at + 1, at + 2, at + 3].filter((one) => one < count).map(prepare))
  return people.organizationId
}

export function announceAll(database: TestDatabase, organizationId: string, event: number): Promise<void> {
  return database.transaction(async ({ announce }) => {
    for (const category of categories)
      await announce(category, { organizationId, subject: `Event ${event}`, text: 'It happened', data: { event } })
  })
}

/** Each kill falls a sixth (for five kills) further on, once the instance serves again. */
async function killAgainAndAgain(berth: Berth, receiver: Counter, kills: number, total: number) {
  const killedAt: number[] = []
  let receivedAtLastKill = 0
  for (let kill = 1; kill <= kills; kill++) {
    while (receiver.received < (total * kill) / (kills + 2)) await pause(5)
    killedAt.push(performance.now())
    await berth.kill9()
    receivedAtLastKill = receiver.received
    receiver.answerMs = slowMs
    await berth.restart()
    receiver.answerMs = quickMs
  }
  return { killedAt, receivedAtLastKill }
}

async function untilAllEnded({ db }: TestDatabase, total: number, until: number) {
  for (;;) {
    const rows = await db.selectFrom('deliveries').select(['id', 'status', 'attempts']).execute()
    const isOver = rows.length === total && rows.every(({ status }) => status === 'sent' || status === 'failed')
    if (isOver || performance.now() > until) return rows
    await pause(200)
  }
}
