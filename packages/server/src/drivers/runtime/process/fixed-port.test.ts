import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { freePort } from '../../../../../../tests/kit/free-port.ts'
import { checkListener } from '../../../platform/listener/listener-check.ts'
import type { ListenerOwner } from '../../../platform/listener/listener-owner.ts'
import { emptyPlan } from '../build-plan.ts'
import type { Artifact, Instance, Runtime, StartRequest } from '../runtime.ts'
import { createProcessRuntime } from './process-runtime.ts'
import { openSandbox } from './sandbox/open-sandbox.ts'
import type { IsolationKind } from './sandbox/sandbox.ts'
import { systemProgram } from './sandbox/system-programs.ts'

const owner = { projectId: 'prj_fixed', deploymentId: 'dep_fixed', environment: 'production' }
const resources = { cpuCores: 1, memoryMb: 512, diskMb: 512 }
const neverAborted = new AbortController().signal
const isRoot = process.getuid?.() === 0
const ways: { kind: IsolationKind; skip: boolean }[] = [
  { kind: 'bubblewrap', skip: systemProgram('bwrap') === null },
  { kind: 'own-users', skip: !isRoot },
  { kind: 'none', skip: isRoot },
]
const hasIPv6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'))
/** Answers with its name on a fixed port, like a program that ignores PORT. */
const program = `
require('node:http').createServer((_, response) => response.end(process.env.NAME)).listen(Number(process.env.FIXED), process.env.AT)
`
/** Ignores the error when its port is taken, and then exits because it has nothing to do. */
const silent = program.replace('.listen(', ".on('error', () => {}).listen(")

describe.each(ways)('a program with a hard-coded port, isolation $kind', ({ kind, skip }) => {
  let folder: string
  let runtime: Runtime
  let fixed: number
  const built = new Map<string, Artifact>()
  const outsiders: Server[] = []
  beforeEach(async (context) => {
    if (skip) context.skip()
    folder = await mkdtemp(join('/tmp', 'berth-fixed-'))
    await mkdir(join(folder, 'source'))
    await writeFile(join(folder, 'source', 'program.cjs'), program)
    await writeFile(join(folder, 'source', 'silent.cjs'), silent)
    const { env: environment } = process
    const path = join(folder, 'processes')
    const sandbox = openSandbox({ folder: path, dataDir: path, environment, kinds: [kind] })
    runtime = createProcessRuntime({ folder: path, environment, sandbox, otherPortMs: 300 })
    fixed = await freePort()
  })
  afterEach(async () => {
    for (const { instanceId } of (await runtime?.list()) ?? []) await runtime.stop(instanceId, { graceSeconds: 0 }, neverAborted)
    await runtime?.close()
    await Promise.all(outsiders.splice(0).map((server) => new Promise((closed) => server.close(closed))))
    built.clear()
    if (folder) await rm(folder, { recursive: true, force: true })
  })

  async function artifactOf(language: string): Promise<Artifact> {
    const plan = { ...emptyPlan, language, port: 3000 }
    const request = {
      owner,
      service: '',
      resources,
      sourceFolder: join(folder, 'source'),
      secrets: {},
      timeoutMs: 60_000,
      plan,
    }
    const artifact = built.get(language) ?? (await runtime.build(request, () => {}, neverAborted))
    built.set(language, artifact)
    return artifact
  }

  interface Wanted {
    hint?: number
    file?: string
    language?: string
    at?: string
    listen?: number | string
  }
  async function start(name: string, { hint = fixed, file = 'program.cjs', language = 'javascript', ...more }: Wanted = {}) {
    const request: StartRequest = {
      ...{
        instanceId: `ins_fixed_${name}`,
        owner,
        service: '',
        resources,
        entrypoint: null,
        volumes: [],
        network: null,
      },
      artifact: await artifactOf(language),
      command: ['node', file],
      env: { NAME: name, FIXED: String(more.listen ?? fixed), AT: more.at ?? '127.0.0.1' },
      port: hint,
      restart: false,
    }
    return runtime.start(request, neverAborted)
  }

  /** Waits until the program answers with its own name at the address that the runtime reports. */
  async function serving(name: string): Promise<Instance> {
    let found: Instance | undefined
    await expect
      .poll(async () => {
        found = await runtime.inspect(`ins_fixed_${name}`)
        const { host, port } = found?.address ?? {}
        return port ? await fetch(`http://${host}:${port}/`).then((answer) => answer.text()) : null
      })
      .toBe(name)
    return found as Instance
  }

  const isItsOwn = ({ address }: Instance, owner?: ListenerOwner) =>
    new Promise((notify) => checkListener(address!, owner ?? (address?.listener as ListenerOwner), notify))
  const takeIt = async () => {
    const server = createServer((socket) => socket.destroy())
    outsiders.push(server)
    await new Promise<void>((resolve) => server.listen(fixed, '127.0.0.1', resolve))
  }

  test('is found on the port of its source or any other, and is recognised as its own there', async () => {
    const given = (await start('hinted')).address?.port
    const hinted = await serving('hinted')
    expect(given).not.toBe(fixed)
    expect(hinted).toMatchObject({ state: 'running', restarts: 0, address: { host: '127.0.0.1', port: fixed } })
    expect(await isItsOwn(hinted)).toBe(true)
    await runtime.stop('ins_fixed_hinted', { graceSeconds: 5 }, neverAborted)
    const other = await freePort()
    await start('other', { hint: other, at: '0.0.0.0' })
    expect((await serving('other')).address?.port).toBe(fixed)
  })

  test('beside its older instance it listens on PORT, and each answers its own requests', async () => {
    await start('old')
    const old = await serving('old')
    await start('new')
    const young = await serving('new')
    expect(young.address?.port).not.toBe(fixed)
    expect(young).toMatchObject({ state: 'running', restarts: 0 })
    expect(await serving('old')).toMatchObject({ address: { port: fixed } })
    expect(await isItsOwn(young)).toBe(true)
    // No process has this start time. Process 1 is an ancestor of every process, and starts at 0 on some machines.
    expect(await isItsOwn(old, { pid: 1, startTime: `1${'0'.repeat(15)}` })).toBe(false)
    await runtime.stop('ins_fixed_old', { graceSeconds: 5 }, neverAborted)
    expect((await serving('new')).address).toEqual(young.address)
  })

  test('works without a declared port', async () => {
    await takeIt()
    await start('quiet', { file: 'silent.cjs' })
    expect((await serving('quiet')).address?.port).not.toBe(fixed)
  })

  test('in another language exits, and its port is reported', async () => {
    await takeIt()
    await start('go', { language: 'go' })
    await expect.poll(() => runtime.inspect('ins_fixed_go')).toMatchObject({ state: 'exited', exitCode: 1, portTaken: fixed })
  })

  test.skipIf(!hasIPv6)(
    'that is unreachable over IPv4 loopback is reported with its listening address',
    async () => {
      const given = (await start('six', { at: '::1' })).address?.port
      await expect
        .poll(() => runtime.inspect('ins_fixed_six'))
        .toMatchObject({ address: { port: given }, listensOn: [`[::1]:${fixed}`] })
    },
    90_000,
  )
})
