import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import http from 'node:http'
import http2 from 'node:http2'
import https from 'node:https'
import net from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeNeeding, partOf } from '../../../../../../tests/kit/machine.ts'
import { tempFolder } from '../../../../../../tests/kit/temp-folder.ts'
import type { EdgeCertificate, EdgeRule } from '../../../edge-proxy/protocol/edge-table.ts'
import type { TrafficMinute } from '../../../edge-proxy/protocol/traffic.ts'
import type { TestEdge, TestUpstream } from '../edge-fixture.ts'
import { eventually, nginxDriver, serve, startEchoUpstream, startNginxEdge, startUpstream } from '../edge-fixture.ts'
import type { NginxEdge } from './nginx-edge.ts'
import { findMaster, workersOf } from './nginx-process.ts'

describeNeeding(['nginx'], 'the edge with nginx', () => {
  let edge: TestEdge<NginxEdge>
  let echo: TestUpstream
  const upstreams: TestUpstream[] = []
  const keep = (upstream: TestUpstream) => {
    upstreams.push(upstream)
    return upstream
  }
  const traffic: TrafficMinute[] = []
  const nginxFolder = () => join(edge.folder, 'nginx')

  beforeAll(async () => {
    edge = await startNginxEdge(partOf('nginx'), { https: { host: '127.0.0.1', port: 0 } })
    edge.driver.onTraffic((minutes) => traffic.push(...minutes))
    echo = keep(await startEchoUpstream())
    await edge.route({ 'echo.test': { ...serve(echo), environment: 'production' } })
  })
  afterAll(async () => {
    await edge?.end()
    await Promise.all(upstreams.map((upstream) => upstream.close()))
  })

  test('a request reaches its instance through nginx itself, and is recorded and counted', async () => {
    const answer = await edge.request('echo.test', '/direct?token=secret', {
      method: 'POST',
      body: 'hello',
      headers: {
        'user-agent': 'test',
        'x-forwarded-for': '192.0.2.9',
        'x-real-ip': '192.0.2.9',
        'berth-front': 'serve https 1.1.1.1',
      },
    })
    const seen = JSON.parse(answer.body)
    expect(seen).toMatchObject({ method: 'POST', url: '/direct?token=secret', bytes: 5 })
    expect(seen.headers).toMatchObject({ 'x-forwarded-for': '127.0.0.1', 'x-forwarded-proto': 'http' })
    expect(seen.headers).not.toHaveProperty('x-real-ip')
    expect(answer.headers['x-request-id']).toBe(seen.headers['x-request-id'])
    const record = await edge.record('/direct')
    expect(record).toMatchObject({
      ...{ ip: '127.0.0.1', method: 'POST', host: 'echo.test', status: 200, bytesIn: 5, userAgent: 'test' },
      ...{ projectId: `project-${echo.id}`, deploymentId: `deployment-${echo.id}`, environment: 'production', service: null },
    })
    // The log of nginx has it: the edge behind nginx has not forwarded it.
    expect(record.id).toMatch(/^\d+-\d+-\d+\.\d+$/)
    expect(await edge.driver.requestTotals(`project-${echo.id}`)).toEqual({ total: 1, failed: 0 })
    expect(await edge.driver.activity()).toHaveProperty(`project-${echo.id}`)
    await eventually(() => traffic.some(({ requests, projectId }) => requests === 1 && projectId === `project-${echo.id}`))
  })

  test('pages: unknown host, disabled, failed, an instance that does not listen', async () => {
    const gone = await startEchoUpstream()
    await gone.close()
    await edge.route({
      'disabled.test': { target: { kind: 'disabled', projectId: 'p' } },
      'failed.test': { target: { kind: 'failed', projectId: 'p' } },
      'gone.test': serve(gone),
    })
    const page = async (host: string, method = 'GET') => {
      const { status, body, headers } = await edge.request(host, '/', { method, headers: { accept: 'application/json' } })
      return [status, JSON.parse(body).code, headers['retry-after'] ?? null]
    }
    expect(await page('unknown.test')).toEqual([404, 'unknown_host', null])
    expect(await page('disabled.test')).toEqual([503, 'project_disabled', null])
    expect(await page('failed.test')).toEqual([502, 'project_failed', null])
    expect(await page('gone.test')).toEqual([502, 'upstream_unreachable', '5'])
    expect(await page('gone.test', 'POST')).toEqual([502, 'upstream_unreachable', '5'])
    expect(await edge.driver.requestTotals(`project-${gone.id}`)).toEqual({ total: 2, failed: 2 })
  })

  test('rules: ban, allow-deny, rate limit, dry run and hits', async () => {
    const rule = (id: string, rest: object) => ({ id, enabled: true, ...rest }) as EdgeRule
    const rules = [
      rule('ban', { kind: 'ban', config: { userAgents: ['evil'] } }),
      rule('methods', { kind: 'allow-deny', pathPrefix: '/read', config: { methods: ['GET'] } }),
      rule('dry', { kind: 'ban', dryRun: true, pathPrefix: '/dry', config: { ips: ['127.0.0.1'] } }),
      rule('limit', { kind: 'rate-limit', pathPrefix: '/limited', config: { requests: 2, windowSeconds: 600 } }),
    ]
    await edge.route({ 'rules.test': { ...serve(echo), rules } })
    const status = async (path: string, options = {}) => (await edge.request('rules.test', path, options)).status
    expect(await status('/', { headers: { 'user-agent': 'very evil' } })).toBe(403)
    expect(await status('/', { headers: { 'user-agent': 'fine' } })).toBe(200)
    expect(await status('/read')).toBe(200)
    expect(await status('/read', { method: 'POST', body: 'x' })).toBe(403)
    expect(await status('/read', { headers: { 'x-http-method-override': 'DELETE' } })).toBe(403)
    // The instance would read the same path.
    expect(await status('/x/..//%72ead', { method: 'PUT' })).toBe(403)
    expect(await status('/dry')).toBe(200)
    const limited = await Promise.all(Array.from({ length: 5 }, () => edge.request('rules.test', '/limited')))
    expect(limited.map((one) => one.status).sort()).toEqual([200, 200, 429, 429, 429])
    expect(Number(limited.find((one) => one.status === 429)!.headers['retry-after'])).toBeGreaterThan(0)
    expect(await edge.driver.ruleHits()).toEqual({ ban: 1, methods: 3, dry: 1, limit: 3 })
    expect(await edge.driver.ruleHits()).toEqual({})
    const upgrade = { headers: { connection: 'upgrade', upgrade: 'websocket', 'user-agent': 'evil' } }
    expect(await status('/socket', upgrade)).toBe(403)
    // Not an error of the project, which has a check that fails.
    expect(await status('/large', { headers: { 'x-first': 'a'.repeat(9_000), 'x-second': 'a'.repeat(9_000) } })).toBe(431)
    expect(edge.records.filter(({ path }) => path === '/large')).toEqual([])
  })

  test('a sleeping project is woken, and its requests wait', async () => {
    await edge.route({ 'sleeping.test': { target: { kind: 'sleeping', projectId: 'sleeper' } } })
    const held = edge.request('sleeping.test', '/woken', { method: 'POST', body: 'body' })
    await expect.poll(() => edge.woken).toContain('sleeper')
    await edge.route({ 'sleeping.test': serve(echo) })
    expect(JSON.parse((await held).body)).toMatchObject({ url: '/woken', bytes: 4 })
    expect((await edge.request('sleeping.test')).status).toBe(200)
  })

  test('files of a static project', async () => {
    const folder = join(edge.folder, 'site')
    await mkdir(folder)
    await writeFile(join(folder, 'index.html'), 'home')
    const target = { kind: 'static', projectId: 'site', deploymentId: 'd', folder } as const
    await edge.route({ 'files.test': { target } })
    expect((await edge.request('files.test')).body).toBe('home')
    expect((await edge.request('files.test', '/../../nginx/nginx.pid')).status).not.toBe(200)
    expect((await edge.request('files.test', '/missing')).status).toBe(404)
  })

  test('WebSockets pass, count as use, and are drained', async () => {
    const upstream = keep(
      await startUpstream(
        (_, response) => response.end(),
        (server) =>
          server.on('upgrade', (request, socket) => {
            socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n')
            socket.write(`${request.headers['x-forwarded-for']} `)
            socket.on('data', (part) => socket.write(part)).on('error', () => {})
            socket.on('end', () => socket.end())
          }),
      ),
    )
    await edge.route({ 'socket.test': serve(upstream) })
    const socket = net.connect(edge.port, '127.0.0.1')
    let received = ''
    socket.on('data', (part) => {
      received += part
    })
    socket.write('GET /ws HTTP/1.1\r\nhost: socket.test\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n')
    await expect.poll(() => received).toContain('127.0.0.1 ')
    socket.write('echo')
    await expect.poll(() => received).toMatch(/echo$/)
    // A replaced instance keeps its connection until the client ends it.
    await edge.route({ 'socket.test': serve(echo) })
    socket.write('again')
    await expect.poll(() => received).toMatch(/echoagain$/)
    expect(await edge.driver.drain(upstream.id, 50)).toEqual({ inFlight: 1 })
    expect((await edge.driver.activity())[`project-${upstream.id}`]).toBeGreaterThan(Date.now() - 5_000)
    const drained = edge.driver.drain(upstream.id, 60_000)
    socket.end()
    expect(await drained).toEqual({ inFlight: 0 })
    expect(await edge.record('/ws')).toMatchObject({ status: 101 })
  })

  test('a slow request ends on its old instance, and no request fails during many cutovers', { timeout: 120_000 }, async () => {
    let release = () => {}
    const slow = keep(
      await startUpstream((_, response) => {
        release = () => response.end('old')
      }),
    )
    await edge.route({ 'switch.test': serve(slow) })
    const before = edge.request('switch.test', '/slow')
    await expect.poll(() => release.toString()).toContain('old')
    await edge.route({ 'switch.test': serve(echo) })
    expect(await edge.driver.drain(slow.id, 20)).toEqual({ inFlight: 1 })
    release()
    expect((await before).body).toBe('old')
    expect(await edge.driver.drain(slow.id, 60_000)).toEqual({ inFlight: 0 })

    const agent = new http.Agent({ keepAlive: true, maxSockets: 4 })
    const statuses: number[] = []
    let isRunning = true
    const load = Promise.all(
      Array.from({ length: 4 }, async (_, at) => {
        for (let count = 0; isRunning; count += 1)
          statuses.push((await edge.request('switch.test', `/load/${at}/${count}`, count % 2 ? { agent } : {})).status)
      }),
    )
    for (let round = 0; round < 8; round += 1) {
      const next = await startEchoUpstream()
      await edge.route({ 'switch.test': serve(next) })
      const target = upstreams.at(-1)!
      keep(next)
      await edge.driver.drain(target.id, 10_000)
      if (round > 0) await target.close()
    }
    isRunning = false
    await load
    agent.destroy()
    expect(statuses.length).toBeGreaterThan(8)
    expect(statuses.filter((status) => status !== 200)).toEqual([])
  })

  test('ACME challenges on any host, deliveries of git hosts, the dashboard', async () => {
    const control = keep(await startEchoUpstream())
    const certificate = await selfSigned('berth.test')
    await edge.route(
      { 'berth.test': { target: { kind: 'control', host: control.host, port: control.port, key: 'proof' } } },
      {
        challenges: { token1: 'authorization1' },
        deliveries: { hostnames: ['echo.test'], to: { host: control.host, port: control.port }, key: 'proof' },
        certificates: { 'berth.test': certificate },
      },
    )
    for (const host of ['echo.test', 'unknown.test', 'disabled.test'])
      expect((await edge.request(host, '/.well-known/acme-challenge/token1')).body).toBe('authorization1')
    const delivery = await edge.request('echo.test', '/api/webhooks/git/github', { method: 'POST', body: '{}' })
    expect(JSON.parse(delivery.body)).toMatchObject({ bytes: 2, headers: { 'berth-edge': 'proof 127.0.0.1 http' } })
    // Another method is the project's own.
    expect(JSON.parse((await edge.request('echo.test', '/api/webhooks/git/github')).body).headers).not.toHaveProperty(
      'berth-edge',
    )
    expect((await edge.request('berth.test')).status).toBe(503)
    const dashboard = JSON.parse((await secureGet(edge.tlsPort, 'berth.test', '/')).body)
    expect(dashboard.headers['berth-edge']).toBe('proof 127.0.0.1 https')
  })

  test('https with HTTP/2, redirects to https, and an invalid certificate that affects only its host', async () => {
    const certificate = await selfSigned('secure.test')
    const { warnings } = await edge.route(
      { 'secure.test': { ...serve(echo), redirectToHttps: true }, 'broken.test': serve(echo) },
      { certificates: { 'secure.test': certificate, 'broken.test': { cert: 'no', key: 'pair' } } },
    )
    expect(warnings.join()).toContain('broken.test')
    const { body, status } = await secureGet(edge.tlsPort, 'secure.test', '/over-tls')
    expect([status, JSON.parse(body).headers['x-forwarded-proto']]).toEqual([200, 'https'])
    const redirect = await edge.request('secure.test', '/a?b=1')
    expect([redirect.status, redirect.headers.location]).toEqual([308, `https://secure.test:${edge.tlsPort}/a?b=1`])
    const session = http2.connect(`https://secure.test:${edge.tlsPort}`, {
      ...{ rejectUnauthorized: false, servername: 'secure.test' },
      createConnection: undefined,
      lookup: (_host: string, _options: unknown, done: (e: null, a: { address: string; family: number }[]) => void) =>
        done(null, [{ address: '127.0.0.1', family: 4 }]),
    } as http2.SecureClientSessionOptions)
    const answer = await text(session.request({ ':path': '/two' }))
    session.close()
    expect(JSON.parse(answer)).toMatchObject({ url: '/two', headers: { 'x-forwarded-host': `secure.test:${edge.tlsPort}` } })
    await expect(secureGet(edge.tlsPort, 'unknown.test', '/')).rejects.toThrow()
  })

  test('the first use of a host without a certificate is reported', async () => {
    await edge.route({ 'wanted.test': { ...serve(echo), requestCertificate: true } })
    expect((await edge.request('wanted.test')).status).toBe(200)
    await expect.poll(() => edge.wanted).toContain('wanted.test')
  })

  test('the workers are unprivileged, and another user cannot open the socket of the helper', async (context) => {
    if (process.getuid?.() !== 0) context.skip('needs root')
    const [worker] = await workersOf((await findMaster(nginxFolder()))!)
    expect(uidOf(worker!.pid)).toBeGreaterThan(0)
    const program = `require('net').connect(${JSON.stringify(join(nginxFolder(), 'helper.sock'))}).on('error',e=>console.log(e.code)).on('connect',()=>console.log('open'))`
    const { stdout } = await promisify(execFile)(process.execPath, ['-e', program], { uid: 54_321, gid: 54_321 })
    expect(stdout.trim()).toBe('EACCES')
  })

  test('a change of rules or of a project that does not run does not reload nginx', async () => {
    const master = (await findMaster(nginxFolder()))!
    const before = await workersOf(master)
    await edge.route({ 'disabled.test': { target: { kind: 'paused', projectId: 'p', reason: 'restore' } } })
    expect(await workersOf(master)).toEqual(before)
  })

  test('serves while Berth is away, and is found again with its requests', { timeout: 60_000 }, async () => {
    const master = await findMaster(nginxFolder())
    await edge.driver.stop({ keepServing: true })
    expect((await edge.request('echo.test', '/while-away')).status).toBe(200)
    expect((await edge.request('disabled.test')).status).toBe(503)
    const next = nginxDriver(edge.folder, partOf('nginx'), { https: { host: '127.0.0.1', port: 0 } })
    const paths: string[] = []
    next.onRequests((batch) => paths.push(...batch.map(({ path }) => path)))
    expect(await next.start()).toMatchObject({ http: { port: edge.port } })
    expect(next.isAdopted).toBe(true)
    expect(await findMaster(nginxFolder())).toBe(master)
    await expect.poll(() => paths.filter((path) => path === '/while-away')).toHaveLength(1)
    await next.stop({ keepServing: true })
    await edge.driver.start()
  })

  test('another build of the helper takes over under load without a failed request', { timeout: 60_000 }, async () => {
    const statuses: number[] = []
    let isRunning = true
    await edge.route({
      'rules.test': { ...serve(echo), rules: [{ id: 'r', kind: 'ban', enabled: true, config: { userAgents: ['evil'] } }] },
    })
    const load = Promise.all(
      ['rules.test', 'disabled.test', 'echo.test'].map(async (host) => {
        while (isRunning) statuses.push((await edge.request(host, '/upgrade')).status)
      }),
    )
    await edge.driver.stop({ keepServing: true })
    const next = nginxDriver(edge.folder, partOf('nginx'), { https: { host: '127.0.0.1', port: 0 }, buildId: 'next' })
    await next.start()
    const seen = statuses.length
    await expect.poll(() => statuses.length).toBeGreaterThan(seen + 20)
    isRunning = false
    await load
    expect([...new Set(statuses)].sort()).toEqual([200, 503])
    await next.stop({ keepServing: true })
    await edge.driver.start()
  })

  test('a killed nginx is started again', { timeout: 60_000 }, async () => {
    const master = (await findMaster(nginxFolder()))!
    const workers = await workersOf(master)
    for (const pid of [master, ...workers.map((worker) => worker.pid)]) process.kill(pid, 'SIGKILL')
    await eventually(async () => (await findMaster(nginxFolder())) ?? false)
    await eventually(async () => (await edge.request('echo.test').catch(() => undefined))?.status === 200)
  })

  test('a large access log is replaced, and no line is lost', { timeout: 60_000 }, async () => {
    const log = join(nginxFolder(), 'access.log')
    const size = (await readFile(log)).length
    expect(size).toBeGreaterThan(0)
    // Lines of another program are passed over.
    await writeFile(log, `${'x'.repeat(1_000)}\n`.repeat(34_000), { flag: 'a' })
    await eventually(async () => (await readFile(log)).length < 1_000_000)
    expect((await edge.request('echo.test', '/after-rotation')).status).toBe(200)
    expect(await edge.record('/after-rotation')).toMatchObject({ status: 200 })
  })

  test('an end stops nginx and the helper', async () => {
    await edge.driver.stop({ keepServing: false, graceMs: 2_000 })
    expect(await findMaster(nginxFolder())).toBeUndefined()
    await expect(edge.request('echo.test')).rejects.toThrow('ECONNREFUSED')
  })
})

const uidOf = (pid: number) => Number(/^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1])

const secureGet = (port: number, servername: string, path: string): Promise<{ status: number; body: string }> =>
  new Promise((resolve, reject) => {
    const options = {
      port,
      host: '127.0.0.1',
      path,
      servername,
      headers: { host: servername },
      rejectUnauthorized: false,
      agent: false,
    }
    https
      .get(options, async (response) => resolve({ status: response.statusCode!, body: await text(response) }))
      .on('error', reject)
  })

async function selfSigned(name: string): Promise<EdgeCertificate> {
  await using folder = await tempFolder('nginx-certificate')
  const [key, cert] = [join(folder.path, 'key.pem'), join(folder.path, 'cert.pem')]
  const form = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
  const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`]
  await promisify(execFile)('openssl', ['req', '-x509', ...form, '-keyout', key, '-out', cert, ...subject])
  return { key: await readFile(key, 'utf8'), cert: await readFile(cert, 'utf8') }
}
