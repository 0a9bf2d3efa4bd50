import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Project, ProjectRoute } from '@berth/contract'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePorts } from '../kit/free-port.ts'
import { getSecurely } from '../kit/get-securely.ts'
import { type Hosting, ownerSignIn, serving, startHosting, writeApp } from '../kit/hosting.ts'
import { describeNeeding, partOf } from '../kit/machine.ts'
import { type Pebble, startPebble } from '../kit/pebble.ts'

describeNeeding(['pebble', 'challtestsrv'], 'domains and their certificates on the edge', () => {
  let pebble: Pebble
  let hosting: Hosting
  let project: Project
  let tlsPort: number
  let root: string
  beforeAll(async () => {
    const [edgePort, edgeTlsPort] = (await freePorts(2)) as [number, number]
    tlsPort = edgeTlsPort
    pebble = await startPebble({ pebble: partOf('pebble'), challtestsrv: partOf('challtestsrv'), httpPort: edgePort })
    root = await pebble.rootCertificate()
    hosting = await startHosting({
      env: {
        BERTH_EDGE_PORT: String(edgePort),
        BERTH_EDGE_TLS_PORT: String(edgeTlsPort),
        BERTH_ACME_DIRECTORY: pebble.directoryUrl,
        NODE_EXTRA_CA_CERTS: pebble.caFile,
      },
    })
    await writeApp(join(hosting.folder, 'shop'), serving('the shop'))
    project = await hosting.makeProject({ name: 'shop', localPath: join(hosting.folder, 'shop') })
    expect(await hosting.settled(await hosting.deploy(project.id))).toMatchObject({ status: 'live' })
  })
  afterAll(async () => {
    await hosting?.[Symbol.asyncDispose]()
    await pebble?.stop()
  })

  const connect = (domain: string) => hosting.api('POST', `/projects/${project.id}/connect`, { domain })
  const retry = () => hosting.api('POST', `/projects/${project.id}/routing/retry`)
  const routeOf = async (hostname: string): Promise<ProjectRoute | undefined> => {
    const { body } = await hosting.api('GET', `/projects/${project.id}`)
    return body.data.routes.find((route: ProjectRoute) => route.hostname === hostname)
  }
  const becomes = (hostname: string, tls: ProjectRoute['tls']) =>
    expect.poll(async () => (await routeOf(hostname))?.tls, { interval: 100 }).toBe(tls)
  const seen = async (hostname: string) => {
    const { status, text, names, serial } = await getSecurely(tlsPort, hostname, root)
    return { status, text, names, serial }
  }

  test('a connected domain gets a certificate: https answers, http redirects, and the free host name stays on http', async () => {
    const answer = await connect('shop.example.test')
    expect(answer.body.data).toMatchObject({ hostname: 'shop.example.test', tls: 'pending' })
    await becomes('shop.example.test', 'active')
    expect(await routeOf('shop.example.test')).toEqual({
      hostname: 'shop.example.test',
      url: `https://shop.example.test:${tlsPort}`,
      kind: 'custom',
      primary: true,
      tls: 'active',
      state: 'synced',
    })
    expect(await seen('shop.example.test')).toMatchObject({ status: 200, text: 'the shop', names: 'DNS:shop.example.test' })
    const plain = await hosting.get('shop.example.test', '/cart?item=1')
    expect([plain.status, plain.headers.location]).toEqual([308, `https://shop.example.test:${tlsPort}/cart?item=1`])
    expect(await hosting.get(`${project.slug}.localhost`)).toMatchObject({ status: 200, text: 'the shop' })
    await expect(getSecurely(tlsPort, 'other.example.test', root)).rejects.toThrow()
  })

  test('an unproven claim of another organisation changes nothing: https answers as before', async () => {
    const before = await seen('shop.example.test')
    const rival = await inAnotherOrganization(hosting)
    const theirs = await rival('POST', '/projects', { name: 'rival', gitUrl: 'https://git.example.test/rival/shop.git' })
    const claim = await rival('POST', `/projects/${theirs.data.id}/connect`, { domain: 'shop.example.test' })
    expect(claim.data).toMatchObject({ hostname: 'shop.example.test', state: 'pending' })
    // The response to a retry comes after the edge got a new table.
    await rival('POST', `/projects/${theirs.data.id}/routing/retry`)
    expect((await retry()).status).toBe(200)
    expect(await routeOf('shop.example.test')).toMatchObject({ tls: 'active', state: 'synced' })
    expect(await seen('shop.example.test')).toEqual(before)
  })

  test('a failed certificate order shows the reason of the authority; routing/retry orders again and succeeds once the cause is removed', async () => {
    await pebble.pointName('away.example.test', '127.0.0.9')
    await connect('away.example.test')
    await becomes('away.example.test', 'error')
    const failed = await routeOf('away.example.test')
    expect(failed).toMatchObject({ state: 'synced', url: expect.stringMatching(/^http:/) })
    expect(failed?.reason).toMatch(/^No certificate: .*127\.0\.0\.9.*refused/)
    expect(await hosting.get('away.example.test')).toMatchObject({ status: 200, text: 'the shop' })
    const feed = async () => JSON.stringify((await hosting.api('GET', '/notifications/deliveries')).body.data)
    await expect.poll(feed).toContain('No certificate for away.example.test')

    await pebble.pointName('away.example.test', null)
    expect((await retry()).body.data.routes).toContainEqual(
      expect.objectContaining({ hostname: 'away.example.test', tls: 'pending' }),
    )
    await becomes('away.example.test', 'active')
    expect((await routeOf('away.example.test'))?.reason).toBeUndefined()
    expect(await seen('away.example.test')).toMatchObject({ status: 200, names: 'DNS:away.example.test' })
  })

  test('a second failure for the same name is shown too', async () => {
    await pebble.pointName('never.example.test', '127.0.0.9')
    await connect('never.example.test')
    for (let round = 0; round < 2; round++) {
      await becomes('never.example.test', 'error')
      if (round === 0) expect((await retry()).status).toBe(200)
    }
    expect((await routeOf('never.example.test'))?.reason).toMatch(/^No certificate: /)
  })

  test('a restart, also after kill -9, serves the same certificate without another order', async () => {
    const before = await seen('shop.example.test')
    const ordered = ordersIn(pebble)
    await hosting.berth.restart()
    await expect.poll(() => seen('shop.example.test').catch(() => null)).toMatchObject(before)
    await hosting.berth.kill9()
    expect(await seen('shop.example.test').then(({ serial }) => serial)).toBe(before.serial)
    await hosting.berth.restart()
    await expect.poll(() => seen('shop.example.test').catch(() => null)).toMatchObject(before)
    expect(await routeOf('shop.example.test')).toMatchObject({ tls: 'active', state: 'synced' })
    expect(ordersIn(pebble)).toBe(ordered)
  })

  test('an expiring certificate is renewed; the http-01 challenge is answered on http although the host redirects to https', async () => {
    const before = await seen('shop.example.test')
    expect((await hosting.get('shop.example.test', '/.well-known/acme-challenge/unknown')).status).toBe(308)
    await hosting.berth.stop()
    endSoon(hosting, 'shop.example.test')
    await hosting.berth.restart()
    await retry()
    const serial = () => seen('shop.example.test').then(({ serial }) => serial)
    await expect.poll(serial).not.toBe(before.serial)
    expect(await seen('away.example.test')).toMatchObject({ status: 200 })
  })

  test('the private keys are stored sealed in the database', async () => {
    await hosting.berth.stop()
    const bytes = await readFile(join(hosting.berth.dataFolder, 'berth.db'), 'latin1')
    expect(bytes).toContain('BEGIN CERTIFICATE')
    expect(bytes).not.toContain('PRIVATE KEY')
  })
})

/** The owner of another organisation, which does not see the projects of the first one. */
async function inAnotherOrganization({ berth }: Hosting) {
  const origin = new URL(berth.url).origin
  const request = async (method: string, path: string, body?: unknown, more: Record<string, string> = {}) => {
    const headers = { origin, 'content-type': 'application/json', ...more }
    return fetch(`${berth.url}/api${path}`, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) })
  }
  const session = await request('POST', '/auth/login', ownerSignIn)
  const cookie = session.headers.getSetCookie()[0]!.split(';')[0]!
  const { data } = await (await request('POST', '/organizations', { name: 'Rival' }, { cookie })).json()
  return async (method: string, path: string, body: unknown = {}) =>
    (await request(method, path, body, { cookie, 'x-organization-id': data.id })).json()
}

const ordersIn = (pebble: Pebble) => pebble.output().match(/Added order/g)?.length ?? 0

/** Ten days are left of ninety. The instance is stopped meanwhile. */
function endSoon({ berth }: Hosting, hostname: string) {
  const day = 86_400_000
  const database = new DatabaseSync(join(berth.dataFolder, 'berth.db'))
  database
    .prepare('update certificates set "issuedAt" = ?, "expiresAt" = ? where hostname = ?')
    .run(Date.now() - 80 * day, Date.now() + 10 * day, hostname)
  database.close()
}
