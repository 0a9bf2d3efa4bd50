// gate: also on PostgreSQL, since two claims are proven at once
import { afterEach, describe, expect, test } from 'vitest'
import { createNameServers } from '../../src/drivers/dns/name-servers.ts'
import { startTestNameServer } from '../../src/drivers/dns/test-name-server.ts'
import { call } from '../kit/call.ts'
import { days, hours, minutes } from '../notifications/scene.ts'
import { authority, begin, dns, end, makeSide, name, proofOf, publish, scene, servedAt, settled } from './claims-scene.ts'

afterEach(end)

describe('a claim without a competing one', () => {
  test('self-hosted: serves at once, without a proof', async () => {
    const { ours } = await begin()
    expect((await ours.connect()).status).toBe(201)
    await expect.poll(() => servedAt()).toBe(ours.project.id)
    await expect.poll(async () => (await ours.route())?.tls).toBe('active')
  })

  test('cloud: serves after the proof, names the missing record until then, and orders no certificate', async () => {
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

describe('claims of two organisations', () => {
  test('self-hosted: both are accepted, and the first keeps serving: its certificate stays, and no notification is sent', async () => {
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

  test('cloud: neither serves before it is proven', async () => {
    const { ours, theirs } = await begin({ BERTH_MODE: 'cloud' })
    await ours.connect()
    await theirs.connect()
    await settled()
    await ours.retry()
    expect(servedAt()).toBeUndefined()
  })

  test('self-hosted, concurrently: both are accepted, and always the same one serves', async () => {
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

  test('an organisation that served an unproven domain is notified when another one proves it', async () => {
    const { ours, theirs } = await begin()
    await ours.connect()
    await expect.poll(async () => (await ours.route())?.tls).toBe('active')
    publish(proofOf(await theirs.connect()))
    await theirs.retry()
    await expect.poll(() => servedAt()).toBe(theirs.project.id)
    expect(await ours.told()).toEqual([`${name} is no longer served`])
    expect(await ours.route()).toMatchObject({ state: 'pending', tls: 'none' })
  })

  test('the organisation that proves the name owns it, first or not; checks continue automatically', async () => {
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

  test('the owner of the proof keeps the name while the record exists, and while DNS is unreachable', async () => {
    const { ours, theirs } = await begin()
    const mine = await ours.connect()
    publish(proofOf(mine))
    await ours.retry()
    const second = await theirs.connect()
    publish(proofOf(mine), proofOf(second))
    await theirs.retry()
    expect(servedAt()).toBe(ours.project.id)
    dns.isUnreachable = true
    publish(proofOf(second))
    await theirs.retry()
    expect(servedAt()).toBe(ours.project.id)
    // The owner's record may disappear, as long as no other organisation's record exists.
    dns.isUnreachable = false
    publish()
    await theirs.retry()
    expect([servedAt(), await ours.told()]).toEqual([ours.project.id, []])
  })

  test('the name moves if the record of the owner is missing and another one exists; the previous owner is notified', async () => {
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

  test('the other organisation gets the name when the project is deleted', async () => {
    const { ours, theirs } = await begin()
    await ours.connect()
    await theirs.connect()
    await call(scene, ours.people.owner.token, 'DELETE /projects/:id', { params: { id: ours.project.id } })
    await expect.poll(() => servedAt()).toBe(theirs.project.id)
    expect((await (await makeSide()).connect()).status).toBe(201)
  })

  test('the claim of a project that is being deleted has no effect, even if proven', async () => {
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

describe('parent and child names', () => {
  test('below a name that another organisation has proven, whose wildcard record may point to this instance, a proof is required', async () => {
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

  test('a claim to a parent or sibling name does not affect the other organisation', async () => {
    const { ours, theirs } = await begin()
    await ours.connect('www.customer.test')
    await theirs.connect('customer.test')
    await expect
      .poll(() => [servedAt('www.customer.test'), servedAt('customer.test')])
      .toEqual([ours.project.id, theirs.project.id])
  })
})

test('checks are durable jobs with growing pauses', async () => {
  const { ours } = await begin({ BERTH_MODE: 'cloud' })
  await ours.connect()
  const requested = async (ms: number, times: number) => {
    const before = dns.queriedNames.length
    for (let at = 0; at < times; at++) await scene.pass(ms / times)
    return dns.queriedNames.length - before
  }
  const [first, second] = [await requested(10 * minutes, 10), await requested(10 * days, 10)]
  expect(first).toBeGreaterThanOrEqual(2)
  expect(first).toBeLessThan(10)
  expect(second).toBeGreaterThanOrEqual(9)
  expect(await requested(3 * hours, 6)).toBeLessThanOrEqual(1)
})

test('the configured name server is queried', async () => {
  const server = await startTestNameServer()
  try {
    const real = createNameServers({ servers: [server.address], cacheMs: 0 })
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
