import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Project, ProjectRoute } from '@berth/contract'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type MemoryDrivers, memoryDrivers } from '../kit/memory-runtime.ts'
import { callsOn, makeProject } from '../kit/projects.ts'
import { asPerson, days, hours, makePeople, type People, type Scene, seconds, startScene } from '../notifications/scene.ts'
import { MemoryAuthority } from './memory-authority.ts'

const shop = 'shop.example.test'
const blog = 'blog.example.test'

let folder: string
let drivers: MemoryDrivers
let authority: MemoryAuthority
let scene: Scene
let people: People
let project: Project
let moved: number
beforeEach(async () => {
  moved = 0
  folder = mkdtempSync(join(tmpdir(), 'berth-certificates-'))
  authority = new MemoryAuthority(() => Date.now() + moved)
  drivers = { ...memoryDrivers(folder), acme: authority }
  scene = await startScene({
    env: { BERTH_EDGE_TLS_PORT: '4443', BERTH_PUBLIC_URL: 'http://berth.example.test' },
    parts: { drivers },
  })
  await scene.running?.start(AbortSignal.timeout(60_000))
  people = await makePeople(scene)
  project = await makeProject(scene, people.owner.token)
})
afterEach(async () => {
  await scene?.running?.stop()
  await scene?.stop()
  rmSync(folder, { recursive: true, force: true })
})

const on = () => callsOn(scene, people.owner.token)(project)
const pass = async (ms: number) => {
  moved += ms
  await scene.pass(ms)
}
const routeOf = async (hostname: string): Promise<ProjectRoute> =>
  (await on()('GET', '')).body.data.routes.find((route: ProjectRoute) => route.hostname === hostname)
const eventually = (hostname: string, field: 'tls' | 'reason') => expect.poll(async () => (await routeOf(hostname))[field])
const connect = async (hostname: string, tls: ProjectRoute['tls'] = 'active') => {
  await on()('POST', '/connect', { domain: hostname })
  await eventually(hostname, 'tls').toBe(tls)
  await scene.jobs.whenIdle()
}
const reported = async (): Promise<string[]> =>
  (await asPerson(scene, people.owner).deliveries()).map(({ subject }: { subject: string }) => subject).toReversed()
const served = () =>
  Object.fromEntries(Object.entries(drivers.edge.table.certificates ?? {}).map(([name, { cert }]) => [name, cert.split('\n')[0]]))

describe('renewal', () => {
  test('certificates that expire within 30 days are ordered again, others are not', async () => {
    await connect(shop)
    await pass(40 * days)
    await connect(blog)
    await pass(19 * days)
    expect(authority.orders).toEqual([shop, blog])
    await pass(2 * days)
    expect(authority.orders).toEqual([shop, blog, shop])
    expect(served()).toEqual({ [shop]: `certificate 3 of ${shop}`, [blog]: `certificate 2 of ${blog}` })
    for (let hour = 0; hour < 5; hour++) await pass(1 * hours)
    expect(authority.orders).toHaveLength(3)
  })

  test('a short-lived certificate is renewed in the last third of its lifetime', async () => {
    authority.lifetimeDays = 6
    await connect(shop)
    await pass(95 * hours)
    expect(authority.orders).toHaveLength(1)
    for (let hour = 0; hour < 3; hour++) await pass(1 * hours)
    expect(authority.orders).toHaveLength(2)
  })

  test('certificates without a domain are deleted', async () => {
    await connect(shop)
    await connect(blog)
    await scene.database.db.deleteFrom('domains').where('hostname', '=', blog).execute()
    await pass(61 * days)
    expect(authority.orders).toEqual([shop, blog, shop])
    const kept = await scene.database.db.selectFrom('certificates').select('hostname').execute()
    expect(kept).toEqual([{ hostname: shop }])
  })

  test('a refused order keeps the old certificate and shows the reason; domain.failed is announced once', async () => {
    await connect(shop)
    authority.refusal = 'too many certificates already issued'
    await pass(61 * days)
    for (let hour = 0; hour < 4; hour++) await pass(1 * hours)
    expect(authority.orders.length).toBeGreaterThan(3)
    expect(await routeOf(shop)).toMatchObject({ tls: 'active', reason: 'Not renewed: too many certificates already issued' })
    expect(served()).toEqual({ [shop]: `certificate 1 of ${shop}` })
    expect(await reported()).toEqual([`The certificate of ${shop} was not renewed`])

    authority.refusal = undefined
    await pass(1 * hours)
    expect((await routeOf(shop)).reason ?? '').not.toMatch(/renewed/)
    expect(served()[shop]).not.toBe(`certificate 1 of ${shop}`)
  })

  test('an expired certificate is no longer served, and that is announced', async () => {
    authority.lifetimeDays = 45
    await connect(shop)
    authority.refusal = 'no'
    await pass(46 * days)
    await pass(1 * hours)
    expect(await routeOf(shop)).toMatchObject({ tls: 'error', reason: 'No certificate: no', url: `http://${shop}:4080` })
    expect(served()).toEqual({})
    expect(await reported()).toContain(`No certificate for ${shop}`)
  })
})

describe('orders', () => {
  test('a refused first order is retried every hour, reported once, and retried at once by routing/retry', async () => {
    authority.refusal = 'the name does not resolve'
    await connect(shop, 'error')
    expect(await routeOf(shop)).toMatchObject({ tls: 'error', reason: 'No certificate: the name does not resolve' })
    for (let hour = 0; hour < 3; hour++) await pass(1 * hours + 1 * seconds)
    expect(authority.orders).toHaveLength(4)
    expect(await reported()).toEqual([`No certificate for ${shop}`])

    authority.refusal = undefined
    const { status, body } = await on()('POST', '/routing/retry')
    expect([status, body.error]).toEqual([200, undefined])
    expect(body.data.routes).toContainEqual(expect.objectContaining({ hostname: shop, tls: 'pending' }))
    await eventually(shop, 'tls').toBe('active')
    expect(authority.orders).toHaveLength(5)
  })

  test('a change of a project does not repeat a refused order', async () => {
    authority.refusal = 'no'
    await connect(shop, 'error')
    for (const name of ['One', 'Two']) await on()('PATCH', '', { name })
    await scene.jobs.whenIdle()
    expect(authority.orders).toHaveLength(1)
  })

  test('an unreachable authority is called three times; then the reason is shown and reported once', async () => {
    authority.outage = 'the authority cannot be reached'
    await on()('POST', '/connect', { domain: shop })
    await eventually(shop, 'reason').toBe('No certificate yet: the authority cannot be reached')
    await scene.jobs.whenIdle()
    expect(await reported()).toEqual([])
    await pass(16 * seconds)
    await pass(31 * seconds)
    expect(authority.orders).toHaveLength(3)
    expect(await routeOf(shop)).toMatchObject({ tls: 'error', reason: 'No certificate: the authority cannot be reached' })
    await pass(2 * seconds)
    expect(await reported()).toEqual([`No certificate for ${shop}`])

    authority.outage = undefined
    await pass(1 * hours)
    expect(await routeOf(shop)).toMatchObject({ tls: 'active' })
  })

  test('a retry does not wait for the pause of an order that could not be placed', async () => {
    authority.outage = 'the authority cannot be reached'
    await on()('POST', '/connect', { domain: shop })
    await eventually(shop, 'reason').toMatch(/^No certificate yet/)
    authority.outage = undefined
    await on()('POST', '/routing/retry')
    await eventually(shop, 'tls').toBe('active')
    await pass(20 * seconds)
    expect(authority.orders).toHaveLength(2)
  })
})

describe('expiry', () => {
  test('domain.expiring 21, 7 and 1 days before a certificate that is not renewed expires, once each', async () => {
    authority.lifetimeDays = 80
    await connect(shop)
    authority.refusal = 'no'
    for (const daysPassed of [58, 1.5, 5, 9, 3, 3]) {
      await pass(daysPassed * days)
      await pass(1 * hours)
    }
    const warnings = (await reported()).filter((subject) => subject.includes('expires'))
    expect(warnings).toEqual([
      `The certificate of ${shop} expires in 21 days`,
      `The certificate of ${shop} expires in 7 days`,
      `The certificate of ${shop} expires within a day`,
    ])
  })
  test('a certificate that is renewed in time has no warning, however short its lifetime', async () => {
    authority.lifetimeDays = 30
    await connect(shop)
    for (const daysPassed of [10, 9, 1, 1, 1, 6, 6]) await pass(daysPassed * days)
    expect(authority.orders).toEqual([shop, shop])
    expect(await reported()).toEqual([])
  })
})

describe('an unusable certificate', () => {
  const breakOf = (column: 'certificate' | 'privateKey', hostname: string) =>
    scene.database.db
      .updateTable('certificates')
      .set(column === 'certificate' ? { certificate: 'no certificate' } : { privateKey: 'sealed with another key' })
      .where('hostname', '=', hostname)
      .execute()
  const change = async () => {
    await on()('PATCH', '', { name: `Changed ${authority.orders.length}` })
  }

  test.each(['certificate', 'privateKey'] as const)(
    'because of its %s is ordered again at once, before it is due, and others are not',
    async (column) => {
      await connect(shop)
      await connect(blog)
      await pass(2 * hours)
      await breakOf(column, shop)
      await change()
      await expect.poll(() => served()[shop]).toBe(`certificate 3 of ${shop}`)
      await eventually(shop, 'tls').toBe('active')
      expect(served()[blog]).toBe(`certificate 2 of ${blog}`)
      expect(authority.orders).toEqual([shop, blog, shop])
    },
  )

  test('whose new order fails is shown and reported once, and retried every hour, not with every change', async () => {
    await connect(shop)
    await pass(2 * hours)
    authority.refusal = 'not today'
    await breakOf('certificate', shop)
    for (let turn = 0; turn < 3; turn += 1) {
      await change()
      await scene.jobs.whenIdle()
    }
    await expect.poll(() => authority.orders.length).toBe(2)
    await scene.jobs.whenIdle()
    expect(await routeOf(shop)).toMatchObject({ tls: 'error', reason: expect.stringMatching(/not today|cannot be used/) })
    await pass(1 * hours)
    expect(authority.orders).toHaveLength(3)
    expect(await reported()).toEqual([`No certificate for ${shop}`])
    authority.refusal = undefined
    await pass(1 * hours)
    await eventually(shop, 'tls').toBe('active')
  })

  test('is not ordered again within the same hour', async () => {
    await connect(shop)
    await breakOf('certificate', shop)
    await change()
    await eventually(shop, 'reason').toMatch(/cannot be used/)
    await scene.jobs.whenIdle()
    expect(authority.orders).toEqual([shop])
    await pass(1 * hours + 1 * seconds)
    await pass(1 * hours)
    await eventually(shop, 'tls').toBe('active')
    expect(authority.orders).toEqual([shop, shop])
  })

  test('is not stored if an order returns one, and the one in use stays', async () => {
    await connect(shop)
    authority.isForeign = true
    await pass(61 * days)
    expect(await routeOf(shop)).toMatchObject({
      tls: 'active',
      reason: expect.stringMatching(/^Not renewed: .*does not match its private key/),
    })
    expect(served()).toEqual({ [shop]: `certificate 1 of ${shop}` })
  })

  test.each(['certificate', 'privateKey'] as const)(
    'because of its %s affects its own name only, and the others are served',
    async (column) => {
      await connect(shop)
      await connect(blog)
      const broken = column === 'certificate' ? { certificate: 'no certificate' } : { privateKey: 'sealed with another key' }
      await scene.database.db.updateTable('certificates').set(broken).where('hostname', '=', shop).execute()
      await on()('POST', '/connect', { domain: 'third.example.test' })
      await eventually('third.example.test', 'tls').toBe('active')
      await expect.poll(() => Object.keys(served())).toEqual([blog, 'third.example.test'])
      expect(await routeOf(blog)).toMatchObject({ tls: 'active', state: 'pending' })
      expect(await routeOf(shop)).toMatchObject({ tls: 'error', reason: expect.stringContaining('cannot be used') })
    },
  )
})
