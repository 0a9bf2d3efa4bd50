import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { freePorts } from '../kit/free-port.ts'
import { getSecurely, type SecureRequest } from '../kit/get-securely.ts'
import { type Hosting, ownerSignIn, serving, startHosting, writeApp } from '../kit/hosting.ts'
import { describeNeeding, partOf } from '../kit/machine.ts'
import { type Pebble, startPebble } from '../kit/pebble.ts'
import { tempFolder } from '../kit/temp-folder.ts'

const base = 'apps.example.test'
const dashboard = `berth.${base}`

/** Sets and clears TXT records at pebble's name server, as the hook of an operator does at a provider. */
const hookText = `
const [, , url, verb, name, value] = process.argv
const body = JSON.stringify(verb === 'present' ? { host: name + '.', value } : { host: name + '.' })
const answer = await fetch(url + (verb === 'present' ? '/set-txt' : '/clear-txt'), { method: 'POST', body })
process.exit(answer.ok ? 0 : 1)
`

interface Server extends AsyncDisposable {
  hosting: Hosting
  pebble: Pebble
  tlsPort: number
  secure(hostname: string, more?: SecureRequest): ReturnType<typeof getSecurely>
}

/** A server with a base domain, ports for http and https, and a real authority. */
async function startServer(settings: (pebble: Pebble) => Promise<NodeJS.ProcessEnv>): Promise<Server> {
  const [edgePort, tlsPort] = (await freePorts(2)) as [number, number]
  const pebble = await startPebble({ pebble: partOf('pebble'), challtestsrv: partOf('challtestsrv'), httpPort: edgePort })
  const root = await pebble.rootCertificate()
  const env = {
    BERTH_BASE_DOMAIN: base,
    BERTH_EDGE_PORT: String(edgePort),
    BERTH_EDGE_TLS_PORT: String(tlsPort),
    BERTH_ACME_DIRECTORY: pebble.directoryUrl,
    NODE_EXTRA_CA_CERTS: pebble.caFile,
    ...(await settings(pebble)),
  }
  const hosting = await startHosting({ env }).catch(async (error) => {
    await pebble.stop()
    throw error
  })
  return {
    ...{ hosting, pebble, tlsPort },
    secure: (hostname, more) => getSecurely(tlsPort, hostname, root, more),
    async [Symbol.asyncDispose]() {
      await hosting[Symbol.asyncDispose]()
      await pebble.stop()
    },
  }
}

async function deployShop({ hosting }: Server) {
  await writeApp(join(hosting.folder, 'shop'), serving('the shop'))
  const project = await hosting.makeProject({ name: 'shop', slug: 'shop', localPath: join(hosting.folder, 'shop') })
  expect(await hosting.settled(await hosting.deploy(project.id))).toMatchObject({ status: 'live' })
  return project
}

const ordersIn = ({ pebble }: Server) => pebble.output().match(/Added order/g)?.length ?? 0

describeNeeding(['pebble', 'challtestsrv'], 'a server with a base domain', () => {
  let server: Server | undefined
  afterEach(async () => {
    await server?.[Symbol.asyncDispose]()
    server = undefined
  })

  test('dashboard and free host name are served over https, each with an http-01 certificate ordered at first use', async () => {
    server = await startServer(async () => ({}))
    const { hosting, secure, tlsPort } = server
    const origin = `https://${dashboard}:${tlsPort}`
    expect(hosting.berth.output()).toContain(origin)
    // The first handshake may come before the certificate: it waits.
    const page = await secure(dashboard)
    expect([page.status, page.names, page.headers['content-type']]).toEqual([
      200,
      `DNS:${dashboard}`,
      expect.stringContaining('html'),
    ])

    const body = JSON.stringify(ownerSignIn)
    const headers = { origin, 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) }
    const session = await secure(dashboard, { path: '/api/auth/login', method: 'POST', headers, body })
    const cookie = session.headers['set-cookie']?.find((one) => one.includes('berth_session')) ?? ''
    expect([session.status, cookie]).toEqual([
      200,
      expect.stringMatching(/^__Host-berth_session=.*; HttpOnly; SameSite=Lax; Secure$/),
    ])
    const signedIn = await secure(dashboard, { path: '/api/auth/session', headers: { cookie: cookie.split(';')[0]! } })
    expect(JSON.parse(signedIn.text)).toMatchObject({ data: { user: { email: ownerSignIn.email } } })
    const foreign = { ...headers, origin: 'https://evil.example.test', cookie: cookie.split(';')[0]! }
    expect((await secure(dashboard, { path: '/api/projects', method: 'POST', headers: foreign, body })).status).toBe(403)
    const plain = await hosting.get(dashboard, '/projects?x=1')
    expect([plain.status, plain.headers.location]).toEqual([308, `${origin}/projects?x=1`])

    const project = await deployShop(server)
    expect(await hosting.get(`shop.${base}`)).toMatchObject({ status: 200, text: 'the shop' })
    expect(await secure(`shop.${base}`)).toMatchObject({ status: 200, text: 'the shop', names: `DNS:shop.${base}` })
    const moved = await hosting.get(`shop.${base}`, '/cart')
    expect([moved.status, moved.headers.location]).toEqual([308, `https://shop.${base}:${tlsPort}/cart`])
    expect((await hosting.get(`shop.${base}`, '/.well-known/acme-challenge/unknown')).status).toBe(308)
    const { body: shown } = await hosting.api('GET', `/projects/${project.id}`)
    expect(shown.data).toMatchObject({ url: `https://shop.${base}:${tlsPort}`, routes: [{ tls: 'active', state: 'synced' }] })
    await expect(secure(`unknown.${base}`)).rejects.toThrow()
    expect(ordersIn(server)).toBe(2)
  })

  test('with a DNS provider, one wildcard certificate covers the dashboard, free host names and previews', async () => {
    await using folder = await tempFolder('dns-hook')
    server = await startServer(async ({ dnsManagementUrl, dnsServer }) => {
      const script = join(folder.path, 'hook.mjs')
      await writeFile(script, hookText)
      const hook = JSON.stringify([process.execPath, script, dnsManagementUrl])
      return { BERTH_DNS_PROVIDER: 'hook', BERTH_DNS_HOOK: hook, BERTH_DNS_SERVERS: dnsServer }
    })
    const { hosting, secure, tlsPort } = server
    expect(await secure(dashboard)).toMatchObject({ status: 200, names: `DNS:*.${base}` })
    const project = await deployShop(server)
    expect(await secure(`shop.${base}`)).toMatchObject({ status: 200, text: 'the shop', names: `DNS:*.${base}` })
    await hosting.api('POST', `/projects/${project.id}/environments`, { name: 'pr 7', slug: 'pr-7' })
    const preview = await hosting.settled(await hosting.deploy(project.id, { environment: 'pr-7' }))
    expect(preview).toMatchObject({ status: 'live', url: `https://pr-7--shop.${base}:${tlsPort}` })
    expect(await secure(`pr-7--shop.${base}`)).toMatchObject({ status: 200, text: 'the shop', names: `DNS:*.${base}` })
    expect(ordersIn(server)).toBe(1)
    // The former address of previews works too, with its own certificate.
    expect(await hosting.get(`pr-7.shop.${base}`)).toMatchObject({ status: 200, text: 'the shop' })
    expect(await secure(`pr-7.shop.${base}`)).toMatchObject({ status: 200, names: `DNS:pr-7.shop.${base}` })
    expect(ordersIn(server)).toBe(2)
  })
})
