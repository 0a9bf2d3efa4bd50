import { execFile } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import https from 'node:https'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import tls from 'node:tls'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  serve,
  startEchoUpstream,
  startEdge,
  startUpstream,
  type TestEdge,
  type TestUpstream,
} from '../drivers/edge/edge-fixture.ts'
import type { EdgeCertificate } from './protocol/edge-table.ts'

let edge: TestEdge
let upstream: TestUpstream
let folder: string

/** A self-signed pair; the serial tells two of the same name apart. */
async function certificate(name: string): Promise<EdgeCertificate> {
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`]
  await promisify(execFile)('openssl', [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-days',
    '2',
    '-keyout',
    key,
    '-out',
    cert,
    ...subject,
  ])
  return { key: await readFile(key, 'utf8'), cert: await readFile(cert, 'utf8') }
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-tls-'))
  upstream = await startUpstream((request, response) =>
    response.end(`${request.headers['x-forwarded-proto']} ${request.headers.host}`),
  )
  edge = await startEdge({ https: { host: '127.0.0.1', port: 0 } })
})
afterAll(async () => {
  await edge.end()
  await upstream.close()
  await rm(folder, { recursive: true, force: true })
})

interface Secured {
  serial: string
  protocol: string | null
  alpn: string | false | null
}

const handshake = (servername: string, options: tls.ConnectionOptions = {}): Promise<Secured> =>
  new Promise((resolve, reject) => {
    const socket = tls.connect(
      {
        port: edge.tlsPort,
        host: '127.0.0.1',
        servername,
        rejectUnauthorized: false,
        ALPNProtocols: ['h2', 'http/1.1'],
        ...options,
      },
      () => {
        resolve({
          serial: socket.getPeerX509Certificate()!.serialNumber,
          protocol: socket.getProtocol(),
          alpn: socket.alpnProtocol,
        })
        socket.destroy()
      },
    )
    socket.on('error', reject)
  })
const serialOf = (pair: EdgeCertificate) => new X509Certificate(pair.cert).serialNumber

describe('TLS on the edge', () => {
  test('serves the certificate of each name, exact before wildcard, with HTTP/1.1 and TLS 1.2 or newer', async () => {
    const [exact, wildcard] = [await certificate('a.tls.test'), await certificate('*.tls.test')]
    await edge.route({ 'a.tls.test': serve(upstream) }, { certificates: { 'a.tls.test': exact, '*.tls.test': wildcard } })
    expect(await handshake('a.tls.test')).toMatchObject({ serial: serialOf(exact), alpn: 'http/1.1' })
    expect((await handshake('B.tls.test')).serial).toBe(serialOf(wildcard))
    expect((await handshake('b.tls.test', { maxVersion: 'TLSv1.2' })).protocol).toBe('TLSv1.2')
    await expect(
      handshake('b.tls.test', { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }),
    ).rejects.toThrow()
    await expect(handshake('c.b.tls.test')).rejects.toThrow()
    await expect(handshake('other.test')).rejects.toThrow()
  })

  test('serves a renewed certificate without a restart, and keeps open connections', async () => {
    const old = await certificate('renew.test')
    await edge.route({ 'renew.test': serve(upstream) }, { certificates: { 'renew.test': old } })
    const agent = new https.Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false, servername: 'renew.test' })
    const get = () =>
      new Promise<{ body: string; localPort: number }>((resolve, reject) => {
        const request = https.get(
          { port: edge.tlsPort, host: '127.0.0.1', headers: { host: 'renew.test' }, agent },
          (response) => {
            const { localPort } = response.socket
            response.on('data', (part) => resolve({ body: String(part), localPort: localPort! }))
          },
        )
        request.on('error', reject)
      })
    const before = await get()
    expect(before.body).toBe('https renew.test')
    const renewed = await certificate('renew.test')
    await edge.route({}, { certificates: { 'renew.test': renewed } })
    expect((await handshake('renew.test')).serial).toBe(serialOf(renewed))
    expect((await get()).localPort).toBe(before.localPort)
    agent.destroy()
  })

  test('an unusable certificate affects its own name only', async () => {
    const [one, two] = [await certificate('one.test'), await certificate('two.test')]
    await edge.route({}, { certificates: { 'one.test': { cert: one.cert, key: two.key }, 'two.test': two } })
    await expect(handshake('one.test')).rejects.toThrow()
    expect((await handshake('two.test')).serial).toBe(serialOf(two))
  })

  test('http is redirected to https if the host has it set, except ACME challenges', async () => {
    await edge.route(
      { 'secure.test': { ...serve(upstream), redirectToHttps: true } },
      { challenges: { t: 't.x' }, trustedProxies: ['127.0.0.1'] },
    )
    const answer = await edge.request('secure.test', '/a?b')
    expect([answer.status, answer.headers.location]).toEqual([308, `https://secure.test:${edge.tlsPort}/a?b`])
    await edge.route({}, { publicHttpsPort: 443 })
    expect((await edge.request('secure.test', '/a')).headers.location).toBe('https://secure.test/a')
    expect((await edge.request('secure.test', '/.well-known/acme-challenge/t')).body).toBe('t.x')
    expect((await edge.request('secure.test', '/', { headers: { 'x-forwarded-proto': 'https' } })).status).toBe(200)
  })

  test('the first use of a host without its certificate is reported, and handshakes wait until it arrives', async () => {
    const lacking = { ...serve(upstream), requestCertificate: true }
    const certificates: Record<string, EdgeCertificate> = { 'two.test': await certificate('two.test') }
    await edge.route({ 'first.test': lacking, 'never.test': lacking, 'plain.test': lacking }, { certificates })
    expect((await edge.request('plain.test')).body).toBe('http plain.test')
    const [waiting, failing] = [handshake('first.test'), handshake('never.test').catch((error: Error) => error)]
    await expect.poll(() => edge.wanted.toSorted()).toEqual(['first.test', 'never.test', 'plain.test'])
    const issued = await certificate('first.test')
    await edge.route({ 'never.test': serve(upstream) }, { certificates: { ...certificates, 'first.test': issued } })
    expect((await waiting).serial).toBe(serialOf(issued))
    // Its order was refused: the handshake does not wait any longer.
    expect(await failing).toBeInstanceOf(Error)
    await expect(handshake('unknown.test')).rejects.toThrow()
    expect(edge.wanted).toHaveLength(3)
  })

  test('requests are forwarded to the control plane over https only, with the client address and protocol', async () => {
    const control = await startEchoUpstream()
    const target = { kind: 'control' as const, host: control.host, port: control.port, key: 'k1' }
    const pair = await certificate('berth.test')
    await edge.route({ 'berth.test': { target } }, { certificates: { 'berth.test': pair }, trustedProxies: [] })
    expect((await edge.request('berth.test', '/api/health')).status).toBe(503)
    const answer = await new Promise<string>((resolve, reject) => {
      const options = { port: edge.tlsPort, host: '127.0.0.1', servername: 'berth.test', rejectUnauthorized: false }
      const headers = { host: 'berth.test', 'berth-edge': 'k1 203.0.113.9 http' }
      https
        .get({ ...options, path: '/api/x', headers, agent: false }, (response) => text(response).then(resolve, reject))
        .on('error', reject)
    })
    const { url, headers } = JSON.parse(answer)
    expect([url, headers.host, headers['berth-edge']]).toEqual([
      '/api/x',
      'berth.test',
      'k1 127.0.0.1 https, k1 203.0.113.9 http',
    ])
    await control.close()
  })

  test('a client without TLS on the TLS port is refused', async () => {
    const socket = net.connect(edge.tlsPort, '127.0.0.1')
    socket.on('error', () => {})
    socket.end('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    let text = ''
    socket.on('data', (part) => {
      text += part.toString('latin1')
    })
    await new Promise((resolve) => socket.once('close', resolve))
    expect(text).not.toContain('HTTP/')
    expect((await handshake('berth.test')).alpn).toBe('http/1.1')
  })

  test('a TLS session of one worker is resumed by every other', async () => {
    const several = await startEdge({ workers: 3, https: { host: '127.0.0.1', port: 0 } })
    try {
      await several.route({ 'a.test': serve(upstream) }, { certificates: { 'a.test': await certificate('a.test') } })
      const first = await resume(several.tlsPort)
      expect(first.isResumed).toBe(false)
      const again = await Promise.all(Array.from({ length: 60 }, () => resume(several.tlsPort, first.session)))
      expect(again.filter(({ isResumed }) => isResumed)).toHaveLength(60)
    } finally {
      await several.end()
    }
  })
})

/** Connects as a client that has a session, if one is given. */
const resume = (port: number, session?: Buffer) =>
  new Promise<{ isResumed: boolean; session: Buffer | undefined }>((resolve, reject) => {
    const options = { port, host: '127.0.0.1', servername: 'a.test', rejectUnauthorized: false, maxVersion: 'TLSv1.2' as const }
    const socket = tls.connect({ ...options, session }, () => {
      resolve({ isResumed: socket.isSessionReused(), session: socket.getSession() })
      socket.destroy()
    })
    socket.on('error', reject)
  })
