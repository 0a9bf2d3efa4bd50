import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { emptyPlan } from '../../build-plan.ts'
import { createProcessRuntime } from '../process-runtime.ts'
import { copyCertificates } from './certificates.ts'
import { openSandbox } from './open-sandbox.ts'
import type { IsolationKind } from './sandbox.ts'
import { systemProgram } from './system-programs.ts'

const isRoot = process.getuid?.() === 0
const ways: { kind: IsolationKind; skip: boolean }[] = [
  { kind: 'bubblewrap', skip: systemProgram('bwrap') === null },
  { kind: 'own-users', skip: !isRoot },
  { kind: 'none', skip: isRoot },
]
const neverAborted = new AbortController().signal
let location: string
let file: string
const server = createServer({}, (_request, response) => response.end('trusted'))

beforeAll(async () => {
  location = mkdtempSync('/tmp/berth-certificates-')
  mkdirSync(join(location, 'private'), { mode: 0o700 })
  file = join(location, 'private', 'company.pem')
  const key = join(location, 'private', 'company.key')
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost', '-days', '30', '-nodes']
  const pair = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-keyout', key, '-out', file]
  execFileSync('openssl', ['req', '-x509', ...pair, ...subject], { stdio: 'ignore' })
  server.setSecureContext({ cert: readFileSync(file), key: readFileSync(key) })
  // As operators keep them: readable by root only, and the key in the same file.
  writeFileSync(file, readFileSync(file, 'utf8') + readFileSync(key, 'utf8'))
  chmodSync(file, 0o600)
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve))
})
afterAll(async () => {
  await new Promise((resolve) => server.close(resolve))
  rmSync(location, { recursive: true, force: true })
})

describe.each(ways)('certificates of the operator, isolation $kind', ({ kind, skip }) => {
  test.skipIf(skip)('a build trusts the authority, and npm reads the file', async () => {
    const folder = join(location, kind)
    const sourceFolder = join(folder, 'source')
    mkdirSync(sourceFolder, { recursive: true })
    chmodSync(location, 0o711)
    const address = `https://localhost:${(server.address() as AddressInfo).port}/`
    writeFileSync(
      join(sourceFolder, 'build.mjs'),
      `import { readFileSync } from 'node:fs'
const { npm_config_cafile, npm_config_registry } = process.env
const hasKey = readFileSync(npm_config_cafile, 'utf8').includes('PRIVATE')
console.log(await (await fetch('${address}')).text(), hasKey, String(npm_config_registry))`,
    )
    const registry = 'http://user:password@127.0.0.1:1/'
    const environment = {
      PATH: process.env.PATH,
      NODE_EXTRA_CA_CERTS: file,
      npm_config_cafile: file,
      npm_config_registry: registry,
    }
    const processes = join(folder, 'processes')
    const sandbox = openSandbox({ folder: processes, dataDir: processes, environment, kinds: [kind] })
    const runtime = createProcessRuntime({ folder: processes, environment, sandbox })
    const lines: string[] = []
    const owner = { projectId: 'prj_certificates', deploymentId: 'dep_certificates', environment: 'production' }
    const resources = { cpuCores: 1, memoryMb: 512, diskMb: 512 }
    const plan = {
      ...emptyPlan,
      language: 'javascript',
      buildCommand: 'node build.mjs',
      startCommand: 'node build.mjs',
      port: 3000,
    }
    await runtime.build(
      { owner, service: '', sourceFolder, plan, secrets: {}, resources, timeoutMs: 60_000 },
      ({ message }) => lines.push(message),
      neverAborted,
    )
    await runtime.close()
    // The registry may contain a password: builds do not see it.
    expect(lines.at(-1)).toBe('trusted false undefined')
  })
})

test('a variable that names no certificate file is omitted', () => {
  const key = join(location, 'private', 'company.key')
  const variables = {
    NODE_EXTRA_CA_CERTS: '/no/such/file',
    SSL_CERT_FILE: key,
    PIP_CERT: '/tmp',
    HOME: file,
    DENO_CERT: 'relative.pem',
  }
  expect(copyCertificates(variables, location)).toEqual({})
})
