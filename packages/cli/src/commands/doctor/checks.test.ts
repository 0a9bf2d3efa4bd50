import { execFile } from 'node:child_process'
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { createServer as createTlsServer } from 'node:tls'
import { promisify } from 'node:util'
import { afterEach, expect, test, vi } from 'vitest'
import { tempFolder } from '../../../../../tests/kit/temp-folder.ts'
import { readConfig } from '../../../../server/src/instance/config/config.ts'
import { checks, runChecks } from './checks.ts'

afterEach(() => vi.unstubAllEnvs())

async function findings(folder: string, env: Record<string, string> = {}) {
  const base = { HOME: folder, BERTH_DATA_DIR: join(folder, 'data'), BERTH_PORT: '0', BERTH_EDGE_PORT: '0' }
  const found = await runChecks(readConfig({ ...base, BERTH_DOCKER_SOCKET: join(folder, 'no.sock'), ...env }))
  return new Map(found.map((one) => [one.check, one]))
}

test('on a machine without any program each missing one is a warning with a fix, and nothing fails', async () => {
  await using folder = await tempFolder('doctor')
  vi.stubEnv('PATH', folder.path)
  const found = await findings(folder.path)
  for (const check of ['docker', 'bubblewrap', 'git'])
    expect(found.get(check)).toMatchObject({ status: 'warn', message: expect.any(String), fix: expect.any(String) })
  expect(found.get('node')).toMatchObject({ status: 'ok' })
  expect(found.get('keys')).toMatchObject({ status: 'ok' })
  expect([...found.values()].filter(({ status, check }) => status === 'fail' && check !== 'disk')).toEqual([])
})

test('a runtime that the settings demand and that is missing fails', async () => {
  await using folder = await tempFolder('doctor')
  expect((await findings(folder.path, { BERTH_RUNTIME: 'docker' })).get('docker')).toMatchObject({ status: 'fail' })
})

test('an nginx that is too old fails only where the settings ask for nginx', async () => {
  await using folder = await tempFolder('doctor')
  const program = join(folder.path, 'nginx')
  await writeFile(program, "#!/bin/sh\necho 'nginx version: nginx/1.18.0' >&2\n")
  await chmod(program, 0o755)
  vi.stubEnv('PATH', folder.path)
  expect((await findings(folder.path, { BERTH_EDGE: 'nginx' })).get('nginx')).toMatchObject({
    status: 'fail',
    message: 'nginx/1.18.0 is too old: 1.20 or later is needed',
  })
  expect((await findings(folder.path)).get('nginx')).toMatchObject({ status: 'ok' })
})

test('a key that other users can read fails, and the fix names it', async () => {
  await using folder = await tempFolder('doctor')
  const file = join(folder.path, 'data', 'backup.key')
  await mkdir(join(folder.path, 'data'))
  await writeFile(file, 'key')
  await chmod(file, 0o644)
  expect((await findings(folder.path)).get('keys')).toMatchObject({ status: 'fail', fix: `chmod 600 ${file}` })
  await chmod(file, 0o600)
  expect((await findings(folder.path)).get('keys')).toMatchObject({ status: 'ok' })
})

test('a port of another program fails', async () => {
  await using folder = await tempFolder('doctor')
  const server = createServer()
  const port = await new Promise<number>((resolve) =>
    server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port)),
  )
  const found = (await findings(folder.path, { BERTH_PORT: String(port) })).get('ports')
  server.close()
  expect(found).toMatchObject({ status: 'fail', message: expect.stringContaining(String(port)) })
})

test('an address that is not of this machine fails, and the message names it', async () => {
  await using folder = await tempFolder('doctor')
  // 192.0.2.0/24 is reserved for documentation.
  const found = (await findings(folder.path, { BERTH_EDGE_HOST: '192.0.2.1' })).get('ports')
  expect(found).toMatchObject({ status: 'fail', message: '192.0.2.1 is not an address of this machine (EADDRNOTAVAIL)' })
})

test.each([
  ['the address that the edge listens on', '127.0.0.2', '127.0.0.2', 30, { status: 'ok', message: 'valid for 29 days' }],
  ['loopback if the edge listens on every address', '127.0.0.1', '0.0.0.0', 2, { status: 'warn', message: 'expires in 1 day' }],
  ['an edge with an expired certificate', '127.0.0.1', '127.0.0.1', -1, { status: 'fail', message: 'expired 1 day ago' }],
])('the certificate is read from %s', async (_, listensOn, edgeHost, days, expected) => {
  await using folder = await tempFolder('doctor')
  const dataDir = join(folder.path, 'data')
  await mkdir(dataDir)
  await writeFile(join(dataDir, 'in-use.json'), JSON.stringify({ pid: process.pid }))
  const server = createTlsServer(await certificate(folder.path, days))
  const port = await new Promise<number>((resolve) =>
    server.listen(0, listensOn, () => resolve((server.address() as { port: number }).port)),
  )
  const env = { HOME: folder.path, BERTH_DATA_DIR: dataDir, BERTH_EDGE_HOST: edgeHost, BERTH_EDGE_TLS_PORT: String(port) }
  expect(await checks.certificate!(readConfig(env))).toMatchObject(expected)
  server.close()
})

/** A self-signed certificate that expires after that many days. */
async function certificate(folder: string, days: number) {
  const [key, request, cert] = ['key.pem', 'request.pem', 'cert.pem'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  const openssl = (...args: string[]) => promisify(execFile)('openssl', args)
  const form = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', '/CN=berth.test']
  await openssl('req', ...form, '-keyout', key, '-out', request)
  await openssl('x509', '-req', '-in', request, '-signkey', key, '-days', String(days), '-out', cert)
  return { key: await readFile(key), cert: await readFile(cert) }
}
