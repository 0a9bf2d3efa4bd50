// gate: also on PostgreSQL, since two organisations claim one domain at once
import type { ProjectRoute } from '@berth/contract'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { call } from '../kit/call.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, type People } from '../kit/people.ts'
import { MemoryEdge } from '../kit/project-ports.ts'
import { callsOn, makeProject } from '../kit/projects.ts'

let instance: TestInstance
let people: People
let project: { id: string; slug: string }
let on: ReturnType<ReturnType<typeof callsOn>>
beforeAll(async () => {
  instance = await startInstance({ BERTH_BASE_DOMAIN: 'apps.example.test', BERTH_PUBLIC_URL: 'https://berth.example.test' })
  people = await makePeople(instance)
})
beforeEach(async () => {
  project = await makeProject(instance, people.member.token)
  on = callsOn(instance, people.member.token)(project)
})
afterAll(() => instance.stop())

let count = 0
const fresh = () => `shop-${count++}.customer.test`
const connect = (domain: unknown) => on('POST', '/connect', { domain })
const routes = async (): Promise<ProjectRoute[]> => (await on('GET', '')).body.data.routes
const primary = async () => (await routes()).filter((route) => route.primary).map(({ hostname }) => hostname)

describe('routes', () => {
  test('a project has a free route from the start, which is pending with a reason until a version is live', async () => {
    expect(await routes()).toEqual([
      {
        hostname: `${project.slug}.apps.example.test`,
        url: `http://${project.slug}.apps.example.test:4080`,
        kind: 'free',
        primary: true,
        tls: 'none',
        state: 'pending',
        reason: expect.stringMatching(/once a version is live/),
      },
    ])
  })

  test('a project of type worker has no routes', async () => {
    expect((await makeProject(instance, people.member.token, { type: 'worker' })).routes).toEqual([])
  })

  test('url is the primary domain once it is verified and served, else the free host name', async () => {
    const edge = new MemoryEdge()
    const served = await startInstance({}, { projectPorts: { edge } })
    const { owner } = await makePeople(served)
    const made = await makeProject(served, owner.token)
    const request = callsOn(served, owner.token)(made)
    const free = `http://${made.slug}.localhost`
    const url = async () => {
      const [record, listed] = [
        (await request('GET', '')).body.data,
        (await call(served, owner.token, 'GET /projects')).body.data[0],
      ]
      expect(listed.url).toBe(record.url)
      expect((await request('GET', '/info')).body.data.runtime.url).toBe(record.url)
      return record.url
    }
    expect(await url()).toBe(free)
    const domain = fresh()
    await request('POST', '/connect', { domain })
    expect(await url(), 'not verified').toBe(free)
    edge.routes.set(domain, { tls: 'none', state: 'synced' })
    expect(await url(), 'served and not verified').toBe(free)
    await served.database.db.updateTable('domains').set({ provenAt: 1 }).where('hostname', '=', domain).execute()
    expect(await url()).toBe(`http://${domain}`)
    edge.routes.set(domain, { tls: 'none', state: 'error' })
    expect(await url(), 'verified and not served').toBe(free)
    const worker = await makeProject(served, owner.token, { type: 'worker' })
    expect(worker.url).toBeNull()
    await served.stop()
  })

  test('POST /routing/retry syncs the edge and returns the routes', async () => {
    const { status, body } = await on('POST', '/routing/retry')
    expect([status, body.data.routes]).toEqual([200, await routes()])
    expect(body.data.routes[0].state).toBe('pending')

    const edge = new MemoryEdge()
    const served = await startInstance({}, { projectPorts: { edge } })
    const { owner } = await makePeople(served)
    const made = await makeProject(served, owner.token)
    edge.routes.set(`${made.slug}.localhost`, { tls: 'active', state: 'synced' })
    const retried = await callsOn(served, owner.token)(made)('POST', '/routing/retry')
    expect(edge.synced).toEqual([made.id])
    expect(retried.body.data.routes).toEqual([
      {
        hostname: `${made.slug}.localhost`,
        url: `https://${made.slug}.localhost`,
        kind: 'free',
        primary: true,
        tls: 'active',
        state: 'synced',
      },
    ])
    await served.stop()
  })
})

describe('POST /projects/:id/connect', () => {
  test('201: adds the domain, lower-cased, and marks it primary in one call, with the DNS records to create', async () => {
    const domain = fresh()
    const { status, body } = await connect(domain.toUpperCase())
    expect(status).toBe(201)
    expect(body.data).toMatchObject({ projectId: project.id, hostname: domain, primary: true, tls: 'none', state: 'pending' })
    expect(body.data.id).toMatch(/^dom_/)
    expect(body.data.dnsRecords).toEqual([
      { type: 'CNAME', name: domain, value: `${project.slug}.apps.example.test` },
      { type: 'TXT', name: `_berth.${domain}`, value: expect.stringMatching(/^berth-verify=[\w-]{32}$/) },
    ])
    expect(await primary()).toEqual([domain])
    expect((await routes()).map(({ kind, hostname }) => [kind, hostname])).toEqual([
      ['free', `${project.slug}.apps.example.test`],
      ['custom', domain],
    ])
  })

  test('200: a domain that the project already has becomes primary again, and is not added twice', async () => {
    const [one, two] = [fresh(), fresh()]
    const first = await connect(one)
    await connect(two)
    expect(await primary()).toEqual([two])
    const again = await connect(one)
    expect([again.status, again.body.data.id]).toEqual([200, first.body.data.id])
    expect(await primary()).toEqual([one])
    expect(await routes()).toHaveLength(3)
  })

  test('200: the free host name of the project becomes primary', async () => {
    await connect(fresh())
    const own = `${project.slug}.apps.example.test`
    const { status, body } = await connect(own)
    expect([status, body.data.hostname, body.data.primary]).toEqual([200, own, true])
    expect(await primary()).toEqual([own])
    expect(await routes()).toHaveLength(2)
  })

  test('409 domain_taken: connected to another project of the organisation; one of two concurrent requests wins', async () => {
    const domain = fresh()
    const theirs = callsOn(instance, people.admin.token)(await makeProject(instance, people.admin.token))
    const both = await Promise.all([connect(domain), theirs('POST', '/connect', { domain })])
    expect(both.map(({ status }) => status).sort()).toEqual([201, 409])
    expect(both.find(({ status }) => status === 409)?.body).toMatchObject({ code: 'domain_taken', field: 'domain' })
  })

  test.each([
    ['Upper.Case.TEST', 'upper.case.test'],
    ['dot.at-the-end.test.', 'dot.at-the-end.test'],
    ['bücher.example.test', 'xn--bcher-kva.example.test'],
    ['xn--bcher-kva.other.test', 'xn--bcher-kva.other.test'],
    ['full\u3002width.test', 'full.width.test'],
  ])('%s is connected as %s', async (written, hostname) => {
    const { status, body } = await connect(written)
    expect([status, body.data?.hostname]).toEqual([201, hostname])
    expect((await connect(hostname)).status).toBe(200)
  })

  test('exactly one of many concurrently connected domains is primary', async () => {
    const domains = Array.from({ length: 6 }, fresh)
    const answers = await Promise.all(domains.map(connect))
    expect(answers.map(({ status }) => status)).toEqual(domains.map(() => 201))
    expect(await primary()).toHaveLength(1)
  })

  test.each([
    'apps.example.test',
    'other.apps.example.test',
    'deep.below.apps.example.test',
    'berth.example.test',
    '203.0.113.7',
    '127.1',
    '0x7f.1',
    '2130706433',
    '[::1]',
    'localhost',
    'app.localhost',
    'LOCALHOST.',
    'berth.example.test.',
    'BERTH.example.TEST',
    'other.apps.example.test.',
    'x.apps.example.test\u3002',
    '*.example.org',
    'example.org:8080',
    'example.123',
    `${'a.'.repeat(124)}org`,
    'no spaces.test',
    '-x.example.org',
    `${'a'.repeat(64)}.example.org`,
    'https://example.org',
    '',
    null,
  ])('400 names the field domain: %j', async (domain) => {
    const { status, body } = await connect(domain)
    expect([status, body.field]).toEqual([400, 'domain'])
    expect(await routes()).toHaveLength(1)
  })

  test('the free host name of another project cannot be connected', async () => {
    const other = await makeProject(instance, people.member.token)
    expect((await connect(`${other.slug}.apps.example.test`)).body.field).toBe('domain')
  })

  test('on one machine the records point to that machine', async () => {
    const local = await startInstance()
    const { owner } = await makePeople(local)
    const calls = callsOn(local, owner.token)(await makeProject(local, owner.token))
    const { body } = await calls('POST', '/connect', { domain: 'www.customer.test' })
    expect(body.data.dnsRecords).toContainEqual({ type: 'A', name: 'www.customer.test', value: '127.0.0.1' })
    await local.stop()
  })
})
