import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Project, ProjectRoute } from '@berth/contract'
import { afterEach, describe, expect, test } from 'vitest'
import type { DnsChallenge } from '../../src/drivers/dns-challenge/dns-challenge.ts'
import type { ServedCertificate } from '../../src/drivers/tls-probe/tls-probe.ts'
import { call } from '../kit/call.ts'
import { MemoryDns } from '../kit/memory-dns.ts'
import { type MemoryDrivers, memoryDrivers } from '../kit/memory-runtime.ts'
import { callsOn, makeProject } from '../kit/projects.ts'
import { asPerson, days, hours, makePeople, minutes, type People, type Scene, startScene } from '../notifications/scene.ts'
import { MemoryAuthority } from './memory-authority.ts'

/** Certificates of names that Berth assigns: free addresses, the dashboard, the wildcard. */

const base = 'apps.example.test'
let folder: string
let drivers: MemoryDrivers
let authority: MemoryAuthority
let scene: Scene
let people: People
let moved = 0

async function start(env: Record<string, string> = {}, more: Partial<MemoryDrivers> = {}, dns = new MemoryDns()): Promise<void> {
  moved = 0
  folder = mkdtempSync(join(tmpdir(), 'berth-assigned-'))
  authority = new MemoryAuthority(() => Date.now() + moved)
  drivers = { ...memoryDrivers(folder), acme: authority, ...more }
  drivers.edge.listening = { http: { host: '127.0.0.1', port: 80 }, https: { host: '127.0.0.1', port: 443 } }
  const settings = { BERTH_EDGE_TLS_PORT: '443', BERTH_EDGE_PORT: '80', BERTH_BASE_DOMAIN: base, BERTH_PROJECT_ROOTS: folder }
  scene = await startScene({ env: { ...settings, BERTH_PUBLIC_URL: 'http://127.0.0.1:4000', ...env }, parts: { drivers, dns } })
  await scene.app.listen({ host: '127.0.0.1', port: 0 })
  await scene.running?.start(AbortSignal.timeout(60_000))
  people = await makePeople(scene)
}
afterEach(async () => {
  await scene?.running?.stop()
  await scene?.stop()
  rmSync(folder, { recursive: true, force: true })
})

const pass = async (ms: number) => {
  moved += ms
  await scene.pass(ms)
}

async function deployed(name: string): Promise<Project> {
  const source = join(folder, name)
  mkdirSync(source)
  writeFileSync(join(source, 'package.json'), JSON.stringify({ name, scripts: { start: 'node server.js' } }))
  writeFileSync(join(source, 'server.js'), '')
  const { token } = people.owner
  const project = await makeProject(scene, token, { name, slug: name, localPath: source })
  await call(scene, token, 'POST /deployments/build/access', { body: { projectId: project.id } })
  await expect.poll(async () => (await show(project)).status).toBe('live')
  return project
}

async function previewed(project: Project, slug: string): Promise<void> {
  await callsOn(scene, people.owner.token)(project)('POST', '/environments', { name: slug, slug })
  await call(scene, people.owner.token, 'POST /deployments/build/access', { body: { projectId: project.id, environment: slug } })
  await expect.poll(() => hostOf(`${slug}.shop.${base}`)).toBeDefined()
}

const show = async (project: Project): Promise<Project> =>
  (await callsOn(scene, people.owner.token)(project)('GET', '')).body.data
const freeOf = async (project: Project): Promise<ProjectRoute> => (await show(project)).routes[0]!
const hostOf = (hostname: string) => drivers.edge.table.hosts[hostname]
/** A client uses the host, and all work that follows is done. */
const use = async (hostname: string) => {
  const isRequested = hostOf(hostname)?.requestCertificate === true
  drivers.edge.use(hostname)
  const rows = () => scene.database.db.selectFrom('assignedHostnames').selectAll().where('hostname', '=', hostname).execute()
  if (isRequested) await expect.poll(rows).toHaveLength(1)
  await scene.jobs.whenIdle()
}
const reported = async (person = people.owner): Promise<string[]> =>
  (await asPerson(scene, person).deliveries()).map(({ subject }: { subject: string }) => subject).toReversed()

describe('a free host name', () => {
  test('is served over http until its first use; then it has a certificate, redirects to https, and is renewed', async () => {
    await start()
    const shop = await deployed('shop')
    const host = `shop.${base}`
    expect(await freeOf(shop)).toMatchObject({ tls: 'none', url: `http://${host}` })
    expect([authority.orders, hostOf(host)]).toEqual([[], expect.objectContaining({ requestCertificate: true })])
    drivers.edge.use(host)
    await expect.poll(() => freeOf(shop)).toMatchObject({ tls: 'active', url: `https://${host}`, state: 'synced' })
    expect(hostOf(host)).toMatchObject({ redirectToHttps: true })
    expect(hostOf(host)).not.toHaveProperty('requestCertificate')
    expect((await show(shop)).url).toBe(`https://${host}`)
    await use(host)
    await pass(59 * days)
    expect(authority.orders).toEqual([host])
    await pass(2 * days)
    expect(authority.orders).toEqual([host, host])
  })

  test('is never ordered below localhost, nor for a name that is not served', async () => {
    await start({ BERTH_BASE_DOMAIN: 'localhost' })
    await deployed('shop')
    expect(hostOf('shop.localhost')).not.toHaveProperty('requestCertificate')
    await use('shop.localhost')
    await use('unknown.example.test')
    expect(authority.orders).toEqual([])
  })

  test('whose order was refused is retried after an hour, then two, and is shown and reported once', async () => {
    await start()
    const shop = await deployed('shop')
    const host = `shop.${base}`
    authority.refusal = 'DNS problem'
    await use(host)
    await expect
      .poll(() => freeOf(shop))
      .toMatchObject({ tls: 'error', reason: 'No certificate: DNS problem', url: `http://${host}` })
    expect(hostOf(host)).not.toHaveProperty('requestCertificate')
    await use(host)
    await pass(50 * minutes)
    expect(authority.orders).toHaveLength(1)
    await pass(71 * minutes)
    expect(authority.orders).toHaveLength(2)
    await pass(61 * minutes)
    expect(authority.orders).toHaveLength(2)
    expect(await reported()).toEqual([`No certificate for ${host}`])
    authority.refusal = undefined
    await pass(2 * hours)
    expect(await freeOf(shop)).toMatchObject({ tls: 'active' })
  })

  test('of a deleted project loses its certificate', async () => {
    await start()
    const shop = await deployed('shop')
    await use(`shop.${base}`)
    await expect.poll(() => freeOf(shop)).toMatchObject({ tls: 'active' })
    await callsOn(scene, people.owner.token)(shop)('DELETE', '')
    await expect.poll(() => hostOf(`shop.${base}`)).toBeUndefined()
    await pass(1 * hours)
    expect(await scene.database.db.selectFrom('certificates').select('hostname').execute()).toEqual([])
  })
})

describe('limits', () => {
  test('orders per hour are limited by the setting, a quarter is reserved for other uses; the rest follows later', async () => {
    await start({ BERTH_ACME_ORDERS_PER_HOUR: '4' })
    const names = ['a', 'b', 'c', 'd', 'e']
    for (const name of names) await deployed(name)
    for (const name of names) await use(`${name}.${base}`)
    expect(authority.orders).toHaveLength(3)
    const rows = await scene.database.db.selectFrom('assignedHostnames').selectAll().execute()
    expect(rows.filter(({ tls }) => tls === 'pending').map(({ reason }) => reason)).toEqual([
      expect.stringMatching(/^No certificate yet: 3 certificates were ordered within an hour/),
      expect.stringMatching(/^No certificate yet/),
    ])
    await pass(61 * minutes)
    expect(authority.orders.toSorted()).toEqual(names.map((name) => `${name}.${base}`))
  })

  test('after a Retry-After of the authority no free host name is ordered until then', async () => {
    await start()
    const [shop, blog] = [await deployed('shop'), await deployed('blog')]
    authority.refusal = 'too many certificates already issued'
    authority.retryAt = new Date(Date.now() + 30 * hours)
    await use(`shop.${base}`)
    await use(`blog.${base}`)
    await callsOn(scene, people.owner.token)(shop)('POST', '/routing/retry')
    await scene.jobs.whenIdle()
    expect(authority.orders).toEqual([`shop.${base}`])
    await expect
      .poll(() => freeOf(blog))
      .toMatchObject({ tls: 'error', reason: expect.stringContaining('rate limit is reached for apps.example.test') })
    authority.refusal = undefined
    for (let hour = 0; hour < 28; hour += 7) await pass(7 * hours)
    expect(authority.orders).toHaveLength(1)
    await pass(3 * hours)
    expect(authority.orders.toSorted()).toEqual([`blog.${base}`, `shop.${base}`, `shop.${base}`])
  })

  test('retries of a refused name are limited before the authority limits the instance', async () => {
    await start()
    const shop = await deployed('shop')
    authority.refusal = 'DNS problem'
    await use(`shop.${base}`)
    for (let turn = 0; turn < 6; turn++) {
      await callsOn(scene, people.owner.token)(shop)('POST', '/routing/retry')
      await scene.jobs.whenIdle()
    }
    expect(authority.orders).toHaveLength(4)
    expect((await freeOf(shop)).reason).toMatch(/4 orders were refused within an hour/)
  })
})

describe('the dashboard', () => {
  test('is served by the edge at berth.<base domain>, ordered at the start and not at its first use', async () => {
    await start({ BERTH_PUBLIC_URL: '' })
    expect(scene.publicUrl()).toBe(`https://berth.${base}`)
    await expect.poll(() => authority.orders).toEqual([`berth.${base}`])
    await expect.poll(() => hostOf(`berth.${base}`)).toMatchObject({ target: { kind: 'control' }, redirectToHttps: true })
    const port = Number(new URL(scene.app.listeningOrigin).port)
    expect(hostOf(`berth.${base}`)?.target).toMatchObject({ host: '127.0.0.1', port })
  })

  test('whose certificate is not renewed is reported to each operator, once a day, and to no other member', async () => {
    await start({ BERTH_PUBLIC_URL: '' })
    await expect.poll(() => authority.orders).toEqual([`berth.${base}`])
    authority.refusal = 'DNS problem'
    await pass(61 * days)
    const reportsAfterAnHour = async () => {
      await pass(1 * hours)
      return reported()
    }
    const subject = `The certificate of berth.${base} has a problem`
    await expect.poll(reportsAfterAnHour).toEqual([subject])
    await pass(2 * hours)
    for (const operator of [people.owner, people.admin]) expect(await reported(operator)).toEqual([subject])
    await pass(22 * hours)
    await expect.poll(reportsAfterAnHour).toEqual([subject, subject])
    expect(await reported(people.member)).toEqual([])
  })

  test('over http is not served by the edge', async () => {
    await start({ BERTH_PUBLIC_URL: `http://berth.${base}` })
    expect(drivers.edge.table.hosts).toEqual({})
    expect(authority.orders).toEqual([])
  })
})

describe('with a DNS provider', () => {
  const dns = new MemoryDns()
  const dnsChallenge: DnsChallenge = {
    async present(name, value) {
      dns.records.set(name, [...(dns.records.get(name) ?? []), value])
    },
    async remove(name, value) {
      dns.records.set(
        name,
        (dns.records.get(name) ?? []).filter((known) => known !== value),
      )
    },
  }

  test('a wildcard covers the dashboard and every free host name; none is ordered at first use', async () => {
    await start({ BERTH_PUBLIC_URL: '' }, { dnsChallenge }, dns)
    await expect.poll(() => authority.orders).toEqual([`*.${base}`])
    expect(authority.proofs).toEqual([{ type: 'dns-01', response: expect.any(String) }])
    expect(dns.queriedNames).toContain(`_acme-challenge.${base}`)
    expect(dns.records.get(`_acme-challenge.${base}`)).toEqual([])
    const shop = await deployed('shop')
    await expect.poll(() => freeOf(shop)).toMatchObject({ tls: 'active', url: `https://shop.${base}` })
    expect(hostOf(`berth.${base}`)).toMatchObject({ redirectToHttps: true })
    await use(`shop.${base}`)
    expect(authority.orders).toEqual([`*.${base}`])
    await previewed(shop, 'pr-7')
    const { body } = await callsOn(scene, people.owner.token)(shop)('GET', '/environments')
    expect(body.data[1]).toMatchObject({ slug: 'pr-7', url: `https://pr-7--shop.${base}` })
    expect(hostOf(`pr-7.shop.${base}`)).toMatchObject({ requestCertificate: true })
    const taken = { name: 'taken', slug: 'pr-7--shop' }
    expect(await call(scene, people.owner.token, 'POST /projects', { body: taken })).toMatchObject({ status: 409 })
    await pass(61 * days)
    expect(authority.orders).toEqual([`*.${base}`, `*.${base}`])
  })
})

describe('a wildcard that is not issued yet', () => {
  test('delays the orders of the names it will cover; after it failed, each gets its own certificate', async () => {
    const held = Promise.withResolvers<void>()
    const dnsChallenge: DnsChallenge = { present: () => held.promise, remove: async () => {} }
    await start({ BERTH_DNS_WAIT_SECONDS: '0' }, { dnsChallenge })
    const shop = await deployed('shop')
    expect(hostOf(`shop.${base}`)).toMatchObject({ requestCertificate: true })
    drivers.edge.use(`shop.${base}`)
    await previewed(shop, 'pr-7')
    expect(authority.orders).toEqual([`*.${base}`])
    authority.refusal = 'no TXT record found'
    held.resolve()
    await scene.jobs.whenIdle()
    authority.refusal = undefined
    await use(`shop.${base}`)
    expect(authority.orders).toEqual([`*.${base}`, `shop.${base}`])
  })
})

describe('the served certificate', () => {
  const good = (): ServedCertificate => ({
    fingerprint256: 'other',
    expiresAt: new Date(Date.now() + 90 * days),
    chainProblem: null,
    trustProblem: null,
  })

  test('is compared with the stored one every hour; a problem is shown and reported once, and cleared when it is solved', async () => {
    const requested: string[] = []
    let isServed = true
    const tlsProbe: MemoryDrivers['tlsProbe'] = async (_address, hostname) => {
      requested.push(hostname)
      const { X509Certificate } = await import('node:crypto')
      const { cert } = drivers.edge.table.certificates![hostname]!
      return { ...good(), ...(isServed ? { fingerprint256: new X509Certificate(cert).fingerprint256 } : {}) }
    }
    await start({}, { tlsProbe })
    const shop = await deployed('shop')
    await use(`shop.${base}`)
    await expect.poll(() => freeOf(shop)).toMatchObject({ tls: 'active' })
    await pass(1 * hours)
    expect(requested).toEqual([`shop.${base}`])
    expect(await freeOf(shop)).toMatchObject({ tls: 'active' })
    isServed = false
    await pass(1 * hours)
    await pass(1 * hours)
    expect(await freeOf(shop)).toMatchObject({ tls: 'error', reason: 'The edge serves another certificate' })
    expect(await reported()).toEqual([`The certificate of shop.${base} has a problem`])
    isServed = true
    await pass(1 * hours)
    expect(await freeOf(shop)).toMatchObject({ tls: 'active' })
  })
})
