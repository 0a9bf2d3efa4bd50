import type { ProjectDomain } from '@berth/contract'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, type People } from '../kit/people.ts'
import { MemoryEdge } from '../kit/project-ports.ts'
import { callsOn, makeProject } from '../kit/projects.ts'

const edge = new MemoryEdge()
let instance: TestInstance
let people: People
let project: { id: string; slug: string }
let on: ReturnType<ReturnType<typeof callsOn>>
let free: string
beforeAll(async () => {
  instance = await startInstance({ BERTH_BASE_DOMAIN: 'apps.example.test' }, { projectPorts: { edge } })
  people = await makePeople(instance)
})
beforeEach(async () => {
  project = await makeProject(instance, people.member.token)
  on = callsOn(instance, people.member.token)(project)
  free = `${project.slug}.apps.example.test`
})
afterAll(() => instance.stop())

let count = 0
const fresh = () => `shop-${count++}.customer.test`
const connect = async (domain = fresh()) => {
  expect((await on('POST', '/connect', { domain })).status).toBe(201)
  return domain
}
const list = async (): Promise<ProjectDomain[]> => (await on('GET', '/domains')).body.data
const one = async (hostname: string) => (await list()).find((domain) => domain.hostname === hostname)
const at = (hostname: string) => ({ params: { hostname } })
const remove = (hostname: string) => on('DELETE', '/domains/:hostname', undefined, at(hostname))
const verify = (hostname: string) => on('POST', '/domains/:hostname/verify', undefined, at(hostname))
const makePrimary = (hostname: string) => on('POST', '/domains/:hostname/primary', undefined, at(hostname))
const prove = (hostname: string) =>
  instance.database.db.updateTable('domains').set({ provenAt: 1 }).where('hostname', '=', hostname).execute()
const primary = async () => (await list()).filter((domain) => domain.primary).map(({ hostname }) => hostname)

describe('GET /projects/:id/domains', () => {
  test('the free host name, then the connected domains with the records that connect names', async () => {
    const domain = fresh()
    const { dnsRecords } = (await on('POST', '/connect', { domain })).body.data
    edge.routes.set(free, { tls: 'active', state: 'synced' })
    expect((await on('GET', '/domains')).body).toEqual({
      data: [
        {
          ...{ hostname: free, kind: 'free', primary: false, verified: true, state: 'active', tls: 'active' },
          ...{ pointsHere: true, records: [], reason: null },
        },
        {
          ...{ hostname: domain, kind: 'custom', primary: true, verified: false, state: 'waiting', tls: 'none' },
          pointsHere: null,
          records: dnsRecords,
          reason: expect.stringContaining(dnsRecords.at(-1).value),
        },
      ],
      nextCursor: null,
    })
  })

  test.each([
    ['not verified and not served', false, undefined, { state: 'waiting', reason: expect.stringMatching(/^Not verified/) }],
    [
      'served and not verified',
      false,
      { tls: 'none', state: 'synced' },
      { state: 'waiting', reason: expect.stringMatching(/^Served, but not verified/) },
    ],
    [
      'verified and not served yet',
      true,
      { tls: 'none', state: 'pending', reason: 'not yet' },
      { state: 'waiting', reason: 'not yet' },
    ],
    ['verified and served', true, { tls: 'active', state: 'synced' }, { state: 'active', tls: 'active', reason: null }],
    [
      'verified and served without a certificate',
      true,
      { tls: 'error', state: 'synced', reason: 'No certificate: refused' },
      { state: 'active', tls: 'error', reason: 'No certificate: refused' },
    ],
    ['rejected by the edge', true, { tls: 'none', state: 'error', reason: 'no' }, { state: 'error', reason: 'no' }],
  ] as const)('a domain that is %s', async (_, verified, taken, shown) => {
    const domain = await connect()
    if (verified) await prove(domain)
    if (taken) edge.routes.set(domain, taken)
    expect(await one(domain)).toMatchObject({ verified, ...shown })
    const { url } = (await on('GET', '')).body.data
    expect(new URL(url).hostname, 'url').toBe(shown.state === 'active' ? domain : free)
  })

  test('a worker has no free host name', async () => {
    const worker = await makeProject(instance, people.member.token, { type: 'worker' })
    const request = callsOn(instance, people.member.token)(worker)
    expect((await request('GET', '/domains')).body.data).toEqual([])
    const own = { params: { hostname: `${worker.slug}.apps.example.test` } }
    expect((await request('POST', '/domains/:hostname/primary', undefined, own)).status).toBe(404)
  })

  test('takes limit and cursor', async () => {
    const expected = [free, await connect(), await connect()]
    const found: string[] = []
    let cursor: string | null = null
    do {
      const { body } = await on('GET', '/domains', undefined, { query: { limit: 1, ...(cursor ? { cursor } : {}) } })
      found.push(...body.data.map(({ hostname }: ProjectDomain) => hostname))
      cursor = body.nextCursor
    } while (cursor)
    expect(found).toEqual(expected)
    expect((await on('GET', '/domains', undefined, { query: { cursor: 'eA' } })).body.field).toBe('cursor')
  })
})

describe('POST /projects/:id/domains/:hostname/primary', () => {
  test('changes the primary domain, also to the free host name, and returns the row', async () => {
    const [first, second] = [await connect(), await connect()]
    for (const hostname of [first, free, second]) {
      const { status, body } = await makePrimary(hostname)
      expect([status, body.data]).toEqual([200, await one(hostname)])
      expect(await primary()).toEqual([hostname])
    }
  })

  test('url stays at the free host name until the primary domain is verified and served', async () => {
    const url = async () => new URL((await on('GET', '')).body.data.url).hostname
    const [first, second] = [await connect(), await connect()]
    for (const domain of [first, second]) edge.routes.set(domain, { tls: 'none', state: 'synced' })
    await prove(first)
    expect(await url()).toBe(free)
    await makePrimary(first)
    expect(await url()).toBe(first)
    await makePrimary(second)
    expect(await url()).toBe(free)
  })
})

describe('DELETE /projects/:id/domains/:hostname', () => {
  test('204: the domain is removed, the free host name is primary, and the name can be connected again', async () => {
    const domain = await connect()
    const before = (await one(domain))?.records
    const { status, body } = await remove(domain)
    expect([status, body]).toEqual([204, ''])
    expect([(await list()).map(({ hostname }) => hostname), await primary()]).toEqual([[free], [free]])
    await connect(domain)
    expect((await one(domain))?.records.at(-1)).not.toEqual(before?.at(-1))
  })

  test('another project of the organisation can connect the name afterwards', async () => {
    const domain = await connect()
    const other = callsOn(instance, people.member.token)(await makeProject(instance, people.member.token))
    expect((await other('POST', '/connect', { domain })).status).toBe(409)
    await remove(domain)
    expect((await other('POST', '/connect', { domain })).status).toBe(201)
  })

  test('removing another domain does not change the primary one', async () => {
    const [first, second] = [await connect(), await connect()]
    await remove(first)
    expect(await primary()).toEqual([second])
  })

  test('409 for the free host name', async () => {
    const { status, body } = await remove(free)
    expect([status, body.code]).toEqual([409, 'conflict'])
    expect(body.error).toContain(free)
    expect(await primary()).toEqual([free])
  })

  test('the removed domain is no longer the webhook domain', async () => {
    const domain = await connect()
    await on('POST', '/webhook-domain', { domain })
    await remove(domain)
    const { webhookDomain } = await instance.database.db
      .selectFrom('projects')
      .select('webhookDomain')
      .where('id', '=', project.id)
      .executeTakeFirstOrThrow()
    expect(webhookDomain).toBeNull()
  })

  test('the audit log names the domain', async () => {
    const domain = await connect()
    await remove(domain)
    const entry = await instance.database.db
      .selectFrom('auditLog')
      .select(['objectKind', 'objectId'])
      .where('action', '=', 'DELETE /projects/:id/domains/:hostname')
      .where('objectId', '=', domain)
      .executeTakeFirst()
    expect(entry).toEqual({ objectKind: 'domain', objectId: domain })
  })
})

describe('the host name in the path', () => {
  test.each([
    ['upper case', (domain: string) => domain.toUpperCase()],
    ['a dot at the end', (domain: string) => `${domain}.`],
  ])('is accepted with %s', async (_, spell) => {
    expect((await verify(spell(await connect()))).status).toBe(200)
  })

  test('is accepted in any spelling, up to the longest name that connect accepts', async () => {
    await on('POST', '/connect', { domain: 'bücher.customer.test' })
    expect((await remove('bücher.customer.test')).status).toBe(204)
    const longest = `${'a'.repeat(60)}.${'b'.repeat(60)}.${'c'.repeat(60)}.${'d'.repeat(53)}.customer.test`.slice(-246)
    await connect(longest)
    expect((await remove(longest)).status).toBe(204)
  })

  test('the free host name needs no check', async () => {
    const { status, body } = await verify(free)
    expect([status, body.data]).toEqual([200, await one(free)])
  })

  test.each([
    ['that is connected nowhere', async () => fresh()],
    ['of another project', async () => connectedBy(people)],
    ['of another organisation', async () => connectedBy(await makePeople(instance))],
    ['that is no host name', async () => 'no host\0name'],
  ])('404 for one %s', async (_, name) => {
    const hostname = await name()
    const answers = [await remove(hostname), await verify(hostname), await makePrimary(hostname)]
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404])
  })
  async function connectedBy({ member }: People): Promise<string> {
    const domain = fresh()
    const other = callsOn(instance, member.token)(await makeProject(instance, member.token))
    expect((await other('POST', '/connect', { domain })).status).toBe(201)
    return domain
  }
})
