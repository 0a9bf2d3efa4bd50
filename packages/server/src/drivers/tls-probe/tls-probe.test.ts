import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer } from 'node:tls'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { probeTls } from './tls-probe.ts'

const neverAborted = new AbortController().signal
let folder: string
const read = (name: string) => readFileSync(join(folder, name), 'utf8')

/** Makes a certificate signed by another one; without an issuer it is self-signed. */
function make(name: string, issuer?: string): void {
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', `/CN=${name}`, '-days', '30']
  const signed = issuer ? ['-CA', `${issuer}.pem`, '-CAkey', `${issuer}.key`] : []
  const names = ['-addext', `subjectAltName=DNS:${name}`]
  const args = ['req', '-x509', ...kind, ...signed, ...names, '-keyout', `${name}.key`, '-out', `${name}.pem`]
  execFileSync('openssl', args, { cwd: folder, stdio: 'ignore' })
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-tls-probe-'))
  make('root.test')
  make('middle.test', 'root.test')
  make('shop.test', 'middle.test')
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function probed(chain: string[], servername = 'shop.test') {
  const cert = chain.map((name) => read(`${name}.pem`)).join('')
  const server = createServer({ cert, key: read('shop.test.key') }).on('tlsClientError', () => {})
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  try {
    return await probeTls({ host: '0.0.0.0', port }, servername, neverAborted)
  } finally {
    server.close()
  }
}

test('returns the served certificate, its expiry and its chain', async () => {
  const served = await probed(['shop.test', 'middle.test'])
  expect(served).toMatchObject({ fingerprint256: new X509Certificate(read('shop.test.pem')).fingerprint256, chainProblem: null })
  expect(served.expiresAt.getTime()).toBeGreaterThan(Date.now() + 29 * 86_400_000)
  expect(served.trustProblem).toMatch(/issuer|certificate/i)
})

test('a chain without the intermediate certificate has a problem', async () => {
  expect((await probed(['shop.test'])).chainProblem).toBe('the intermediate certificate is not sent')
})

test('a port without a listener is an error', async () => {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  await expect(probeTls({ host: '127.0.0.1', port }, 'shop.test', neverAborted)).rejects.toThrow(/ECONNREFUSED/)
})
