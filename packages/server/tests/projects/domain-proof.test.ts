// gate: also on PostgreSQL, since two claims are proven at once
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Domain, Project, ProjectRoute } from '@berth/contract'
import { afterEach, describe, expect, test } from 'vitest'
import { createNameServers } from '../../src/drivers/dns/name-servers.ts'
import { startTestNameServer } from '../../src/drivers/dns/test-name-server.ts'
import { MemoryAuthority } from '../edge/memory-authority.ts'
import { call } from '../kit/call.ts'
import { MemoryDns } from '../kit/memory-dns.ts'
import { type MemoryDrivers, memoryDrivers } from '../kit/memory-runtime.ts'
import { callsOn, makeProject } from '../kit/projects.ts'
import {
  asPerson,
  days,
  hours,
  makePeople,
  minutes,
  type People,
  type Scene,
  seconds,
  startScene,
} from '../notifications/scene.ts'

const name = 'www.customer.test'
let folder: string
let drivers: MemoryDrivers
let authority: MemoryAuthority
let dns: MemoryDns
let scene: Scene
afterEach(async () => {
  await scene?.running?.stop()
  await scene?.stop()
  rmSync(folder, { recursive: true, force: true })
})

async function begin(env: Record<string, string> = {}, parts: object = {}) {
  folder = mkdtempSync(join(tmpdir(), 'berth-proofs-'))
  authority = new MemoryAuthority(() => Date.now())
  drivers = { ...memoryDrivers(folder), acme: authority }
  dns = new MemoryDns()
  scene = await startScene({ env: { BERTH_EDGE_TLS_PORT: '4443', ...env }, parts: { drivers, dns, ...parts } })
  await scene.running?.start(AbortSignal.timeout(60_000))
  return { ours: await makeSide(), theirs: await makeSide() }
}

interface Side {
  people: People
  project: Project
  connect(domain?: string): Promise<{ status: number; body: { data: Domain } }>
  route(hostname?: string): Promise<ProjectRoute | undefined>
  retry(): Promise<unknown>
  told(): Promise<string[]>
}

/** An organisation with a project that was deployed once, so that the edge has a host for each of its names. */
async function makeSide(): Promise<Side> {
  const people = await makePeople(scene)
  const project = await makeProject(scene, people.owner.token)
  const on = callsOn(scene, people.owner.token)(project)
  const unknown = { deploymentId: null, staticFolder: null, healthReason: null, lastRequestAt: null, changedAt: Date.now() }
  await scene.database.db
    .insertInto('liveEnvironments')
    .values({ projectId: project.id, environment: 'production', state: 'stopped', health: 'unknown', ...unknown })
    .execute()
  return {
    people,
    project,
    connect: (domain = name) => on('POST', '/connect', { domain }),
    route: async (hostname = name) =>
      (await on('GET', '')).body.data.routes.find((route: ProjectRoute) => route.hostname === hostname),
    retry: () => on('POST', '/routing/retry'),
    told: async () => {
      await scene.pass(2 * seconds)
      return (await asPerson(scene, people.owner).deliveries()).map(({ subject }: { subject: string }) => subject)
    },
  }
}

const servedAt = (hostname = name) => drivers.edge.table.hosts[hostname]?.target.projectId
const proofOf = ({ body }: { body: { data: Domain } }) => body.data.dnsRecords.find(({ type }) => type === 'TXT')!
const publish = (...records: { name: string; value: string }[]) => {
  dns.records.clear()
  for (const { name, value } of records) dns.records.set(name, [...(dns.records.get(name) ?? []), value])
}
const settled = () => scene.jobs.whenIdle()

describe('an uncontested claim', () => {
  test('self-hosted: serves at once, without a proof', async () => {
    const { ours } = await begin()
    expect((await ours.connect()).status).toBe(201)
    await expect.poll(() => servedAt()).toBe(ours.project.id)
    await expect.poll(async () => (await ours.route())?.tls).toBe('active')
  })

  test('cloud: serves after the proof, says until then what is missing, and no certificate is asked for', async () => {
    const { ours } = await begin({ BERTH_MODE: 'cloud' })
    const connected = await ours.connect()
    const { name: record, value } = proofOf(connected)
    expect(connected.body.data).toMatchObject({ state: 'pending', reason: expect.stringContaining(value) })
    await settled()
    await ours.retry()
    expect(await ours.route()).toMatchObject({ state: 'pending', tls: 'none', reason: expect.stringContaining(record) })
    expect([servedAt(), authority.orders]).toEqual([undefined, []])

    publish({ name: record, value: `${value}x` })
    await ours.retry()
    expect(servedAt()).toBeUndefined()

    publish({ name: record, value })
    await ours.retry()
    expect(servedAt()).toBe(ours.project.id)
    await expect.poll(async () => (await ours.route())?.tls).toBe('active')
    expect(authority.orders).toEqual([name])
  })
})

describe('a claim of two organisations', () => {
  test('self-hosted: is taken from both, and the first serves on: its certificate stays, and no notification is sent', async () => {
    const { ours, theirs } = await begin()
    const mine = await ours.connect()
    await expect.poll(async () => (await ours.route())?.tls).toBe('active')
    const before = await ours.route()
    const second = await theirs.connect(name.toUpperCase())
    expect([second.status, second.body.data.state]).toEqual([201, 'pending'])
    expect(proofOf(second).value).not.toBe(proofOf(mine).value)
    await settled()
    await Promise.all([ours.retry(), theirs.retry()])
    expect(servedAt()).toBe(ours.project.id)
    expect(await ours.route()).toEqual(before)
    expect((await theirs.route())?.reason).toContain(proofOf(second).value)
    expect([await ours.told(), await theirs.told()]).toEqual([[], []])
    expect(authority.orders).toEqual([name])
  })

  test('cloud: neither is served before it is proven', async () => {
    const { ours, theirs } = await begin({ BERTH_MODE: 'cloud' })
    await ours.connect()
    await theirs.connect()
    await settled()
    await ours.retry()
    expect(servedAt()).toBeUndefined()
  })

  test('self-hosted, at once: both are taken, and one of them is served, always the same', async () => {
    const { ours, theirs } = await begin()
    const both = await Promise.all([ours.connect(), theirs.connect()])
    expect(both.map(({ status }) => status)).toEqual([201, 201])
    await settled()
    await ours.retry()
    const served = servedAt()
    expect([ours.project.id, theirs.project.id]).toContain(served)
    await theirs.retry()
    expect(servedAt()).toBe(served)
  })

  test('who served without a proof is told when another one proves it', async () => {
    const { ours, theirs } = await begin()
    await ours.connect()
    await expect.poll(async () => (await ours.route())?.tls).toBe('active')
    publish(proofOf(await theirs.connect()))
    await theirs.retry()
    await expect.poll(() => servedAt()).toBe(theirs.project.id)
    expect(await ours.told()).toEqual([`${name} is no longer served`])
    expect(await ours.route()).toMatchObject({ state: 'pending', tls: 'none' })
  })

  test('belongs to the organisation that proves it, first or not; the checks go on by themselves', async () => {
    const { ours, theirs } = await begin()
    await ours.connect()
    const second = await theirs.connect()
    // A running check would see the old records and then the new time.
    await settled()
    publish(proofOf(second))
    await scene.pass(2 * minutes)
    await expect.poll(() => servedAt()).toBe(theirs.project.id)
    expect(await theirs.route()).toMatchObject({ state: 'synced' })
    expect(await ours.route()).toMatchObject({ state: 'pending', reason: expect.stringMatching(/has verified/) })
  })

  test('stays with the owner of the proof while the record exists, and while DNS is unreachable', async () => {
    const { ours, theirs } = await begin()
    const mine = await ours.connect()
    publish(proofOf(mine))
    await ours.retry()
    const second = await theirs.connect()
    publish(proofOf(mine), proofOf(second))
    await theirs.retry()
    expect(servedAt()).toBe(ours.project.id)
    dns.isAway = true
    publish(proofOf(second))
    await theirs.retry()
    expect(servedAt()).toBe(ours.project.id)
    // The owner's record may disappear, as long as no other organisation's record exists.
    dns.isAway = false
    publish()
    await theirs.retry()
    expect([servedAt(), await ours.told()]).toEqual([ours.project.id, []])
  })

  test('moves when the record of who had it is gone and another one stands; who had it is told', async () => {
    const { ours, theirs } = await begin()
    const mine = await ours.connect()
    publish(proofOf(mine))
    await ours.retry()
    const second = await theirs.connect()
    publish(proofOf(second))
    await theirs.retry()
    await expect.poll(() => servedAt()).toBe(theirs.project.id)
    expect(await ours.told()).toEqual([`${name} is no longer served`])
    expect(await ours.route()).toMatchObject({ state: 'pending', tls: 'none' })
    publish(proofOf(mine))
    await ours.retry()
    expect(servedAt()).toBe(ours.project.id)
  })

  test('goes to the other one with the deletion of the project', async () => {
    const { ours, theirs } = await begin()
    await ours.connect()
    await theirs.connect()
    await call(scene, ours.people.owner.token, 'DELETE /projects/:id', { params: { id: ours.project.id } })
    await expect.poll(() => servedAt()).toBe(theirs.project.id)
    expect((await (await makeSide()).connect()).status).toBe(201)
  })

  test('a project that is being deleted claims nothing, though it has proven it', async () => {
    const { ours, theirs } = await begin()
    const mine = await ours.connect()
    publish(proofOf(mine))
    await ours.retry()
    const second = await theirs.connect()
    await scene.database.db.updateTable('projects').set({ deletingSince: 1 }).where('id', '=', ours.project.id).execute()
    publish(proofOf(second))
    await theirs.retry()
    expect(servedAt()).toBe(theirs.project.id)
  })
})

describe('names above and below', () => {
  test('below a name that another organisation has proven, where their wildcard record may lead here, a proof is needed', async () => {
    const { ours, theirs } = await begin()
    publish(proofOf(await ours.connect('customer.test')))
    await ours.retry()
    const below = await theirs.connect('login.customer.test')
    expect(below.body.data).toMatchObject({ state: 'pending', reason: expect.stringContaining('customer.test') })
    await settled()
    expect(servedAt('login.customer.test')).toBeUndefined()
    await ours.connect('shop.customer.test')
    await expect.poll(() => servedAt('shop.customer.test')).toBe(ours.project.id)
    // The owner of the parent name needs no proof there, and has precedence over a claim that may not serve.
    await ours.connect('login.customer.test')
    await expect.poll(() => servedAt('login.customer.test')).toBe(ours.project.id)
    publish(proofOf(below))
    await theirs.retry()
    expect(servedAt('login.customer.test')).toBe(theirs.project.id)
  })

  test('a claim above or beside takes nothing from the other organisation', async () => {
    const { ours, theirs } = await begin()
    await ours.connect('www.customer.test')
    await theirs.connect('customer.test')
    await expect
      .poll(() => [servedAt('www.customer.test'), servedAt('customer.test')])
      .toEqual([ours.project.id, theirs.project.id])
  })
})

test('checks are durable work whose pauses grow', async () => {
  const { ours } = await begin({ BERTH_MODE: 'cloud' })
  await ours.connect()
  const asked = async (ms: number, times: number) => {
    const before = dns.asked.length
    for (let at = 0; at < times; at++) await scene.pass(ms / times)
    return dns.asked.length - before
  }
  const [first, second] = [await asked(10 * minutes, 10), await asked(10 * days, 10)]
  expect(first).toBeGreaterThanOrEqual(2)
  expect(first).toBeLessThan(10)
  expect(second).toBeGreaterThanOrEqual(9)
  expect(await asked(3 * hours, 6)).toBeLessThanOrEqual(1)
})

test('the real name server is asked', async () => {
  const server = await startTestNameServer()
  try {
    const real = createNameServers({ servers: [server.address], keptMs: 0 })
    const { ours } = await begin({ BERTH_MODE: 'cloud' }, { dns: real })
    const { name: record, value } = proofOf(await ours.connect())
    await ours.retry()
    expect(servedAt()).toBeUndefined()
    server.records.set(record, [['v=spf1 -all'], [value]])
    await ours.retry()
    expect(servedAt()).toBe(ours.project.id)
  } finally {
    await server.close()
  }
})
