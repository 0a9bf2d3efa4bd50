import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeNeeding, lookUp, partOf } from '../../../../../../tests/kit/machine.ts'
import { createRunCommand } from '../../shell/run-command.ts'
import type { Artifact, NetworkPart, Runtime, StartRequest } from '../runtime.ts'
import { createDockerRuntime } from './docker-runtime.ts'
import { type Engine, openEngine } from './engine.ts'
import { readIdentity } from './identity.ts'
import { removeEverythingOf } from './remove-everything.ts'
import { containerName } from './run/container-settings.ts'

const neverAborted = new AbortController().signal
const serves = (port: number, text: string) => [
  'sh',
  '-c',
  `mkdir -p /tmp/w; echo ${text} > /tmp/w/index.html; exec httpd -f -p ${port} -h /tmp/w`,
]
const part = (name: string, internal = false, ...aliases: string[]): NetworkPart => ({ name, internal, aliases, services: 3 })

describeNeeding(['docker', 'busyboxImage'], 'Several networks of one project in Docker', () => {
  const seed = randomBytes(4).toString('hex')
  const version = `prj_${seed}-production-dep_${seed}`
  let folder: string
  let engine: Engine
  let runtime: Runtime

  const start = (service: string, changes: Partial<StartRequest>) =>
    runtime.start(
      {
        instanceId: `ins_${seed}${randomBytes(3).toString('hex')}`,
        owner: { projectId: `prj_${seed}`, deploymentId: `dep_${seed}`, environment: 'production' },
        service,
        artifact: { kind: 'image', reference: partOf('busyboxImage'), sizeBytes: 0, startCommand: null } satisfies Artifact,
        command: ['sleep', '600'],
        entrypoint: null,
        env: {},
        port: null,
        volumes: [],
        network: null,
        resources: { cpuCores: 1, memoryMb: 128, diskMb: 500 },
        restart: false,
        ...changes,
      },
      neverAborted,
    )
  const on = (...parts: NetworkPart[]) => ({ network: { name: version, aliases: [], parts } })
  const inside = async (instanceId: string, ...argv: string[]) => {
    let out = ''
    const { exitCode } = await runtime.exec(
      instanceId,
      {
        argv,
        onStdout: (chunk) => {
          out += new TextDecoder().decode(chunk)
        },
      },
      neverAborted,
    )
    return { exitCode, out: out.trim() }
  }
  /** The body of an answer; '' where none came. */
  const get = async (instanceId: string, where: string) => {
    const request = `printf 'GET / HTTP/1.0\\r\\n\\r\\n' | timeout 3 nc ${where.replace(':', ' ')}`
    return (await inside(instanceId, 'sh', '-c', request)).out.split('\r\n\r\n')[1]?.trim() ?? ''
  }
  const networksOf = (name: string) => engine.listNetworks({ filters: { label: [`berth.network=${name}`] } })

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'berth-networks-'))
    engine = openEngine(partOf('docker'))
    const egressFilter = { shell: createRunCommand({}), isStrict: false, openPorts: [] }
    runtime = createDockerRuntime({ socketPath: partOf('docker'), folder, imageMirror: null, egressFilter })
  })
  afterAll(async () => {
    await runtime.close()
    await removeEverythingOf(readIdentity(folder).instance, partOf('docker'))
    await rm(folder, { recursive: true, force: true })
  })

  test('a service reaches services of its own networks by name and no others; networks are removed with the last container', async () => {
    const db = await start('db', { command: serves(7000, 'data'), port: 7000, ...on(part('back', true, 'db')) })
    const api = await start('api', {
      command: serves(7000, 'answer'),
      port: 7000,
      ...on(part('front', false, 'api'), part('back', true, 'api', 'backend')),
    })
    const web = await start('web', on(part('front', false, 'web')))
    await expect.poll(() => get(web.instanceId, 'api:7000')).toBe('answer')
    await expect.poll(() => get(api.instanceId, 'db:7000')).toBe('data')
    expect(await get(db.instanceId, 'backend:7000')).toBe('answer')
    expect(await get(web.instanceId, 'db:7000')).toBe('')
    expect(await get(web.instanceId, 'backend:7000')).toBe('')
    const made = await networksOf(version)
    expect(made.map(({ Labels, Internal }) => [Labels?.['berth.part'], Internal]).sort()).toEqual([
      ['back', true],
      ['front', false],
    ])
    for (const { instanceId } of [api, web]) await runtime.stop(instanceId, { graceSeconds: 0 }, neverAborted)
    expect(await networksOf(version)).toHaveLength(2)
    await runtime.stop(db.instanceId, { graceSeconds: 0 }, neverAborted)
    expect(await networksOf(version)).toEqual([])
  })

  test('a port on internal networks only is served at the address of the container, others at a port of the machine', async () => {
    const db = await start('db', { command: serves(7000, 'data'), port: 7000, ...on(part('back', true, 'db')) })
    const both = { command: serves(7000, 'both'), port: 7000, ...on(part('back', true, 'api'), part('front', false, 'api')) }
    const api = await start('api', both)
    expect(api.address?.host).toBe('127.0.0.1')
    expect(db.address).toEqual({ host: expect.stringMatching(/^\d+\.\d+\.\d+\.\d+$/), port: 7000 })
    expect(db.address?.host).not.toBe('127.0.0.1')
    for (const [{ address }, text] of [[db, 'data'] as const, [api, 'both'] as const])
      await expect
        .poll(async () => {
          const answer = await fetch(`http://${address?.host}:${address?.port}/`).catch(() => null)
          return (await answer?.text())?.trim()
        })
        .toBe(text)
    for (const { instanceId } of [db, api]) await runtime.stop(instanceId, { graceSeconds: 0 }, neverAborted)
  })

  test.skipIf(process.getuid?.() !== 0 || 'reason' in lookUp('dockerIsolation'))(
    'an internal network reaches neither this machine nor another network',
    async () => {
      const machine = createServer((_, response) => response.end('of-the-machine-itself'))
      await new Promise<void>((resolve) => machine.listen(0, '0.0.0.0', resolve))
      const { port } = machine.address() as AddressInfo
      const web = await start('web', { command: serves(7000, 'web'), port: 7000, ...on(part('front', false, 'web')) })
      const open = await start('open', on(part('front', false, 'open')))
      const db = await start('db', on(part('back', true, 'db')))
      const { NetworkSettings } = await engine.getContainer(containerName(web.instanceId)).inspect()
      const [own] = Object.values(NetworkSettings.Networks)
      const back = (await networksOf(version)).find(({ Internal }) => Internal)
      // The machine has the first address of every network.
      const gateway = back?.IPAM?.Config?.[0]?.Subnet?.replace(/(\d+)\/\d+$/, (_, last: string) => String(Number(last) + 1))
      expect(await get(open.instanceId, `${own?.Gateway}:${port}`)).toBe('of-the-machine-itself')
      expect(gateway).toMatch(/^\d/)
      expect(await get(db.instanceId, `${gateway}:${port}`)).toBe('')
      expect(await get(db.instanceId, `${own?.IPAddress}:7000`)).toBe('')
      for (const { instanceId } of [web, open, db]) await runtime.stop(instanceId, { graceSeconds: 0 }, neverAborted)
      await new Promise((resolve) => machine.close(resolve))
    },
  )

  test('an unchanged service is reached on the networks and by the names of the next version', async () => {
    const next = `${version}-next`
    const request = { instanceId: `ins_${seed}stays`, command: serves(7000, 'data'), port: 7000 }
    await start('db', { ...request, ...on(part('back', true, 'db')) })
    const networks = [part('back', true, 'db'), part('more', false, 'store')]
    await start('db', { ...request, network: { name: next, aliases: [], parts: networks } })
    const web = await start('web', { network: { name: next, aliases: [], parts: [part('more', false, 'web')] } })
    await expect.poll(() => get(web.instanceId, 'store:7000')).toBe('data')
    await runtime.stop(web.instanceId, { graceSeconds: 0 }, neverAborted)
    expect(await networksOf(next)).toEqual([])
    await runtime.stop(request.instanceId, { graceSeconds: 0 }, neverAborted)
    expect(await networksOf(version)).toEqual([])
  })

  test('an instance that failed to start leaves no network', async () => {
    const networks = on(part('front'), part('back', true))
    await expect(start('web', { command: ['/no/such/program'], ...networks })).rejects.toThrow()
    expect(await networksOf(version)).toEqual([])
  })

  test.each<[string, () => Promise<void>]>([
    ['the deletion of the project', () => runtime.removeBuilds(`prj_${seed}`, neverAborted)],
    [
      'the next control plane',
      async () => {
        const next = createDockerRuntime({ socketPath: partOf('docker'), folder, imageMirror: null })
        await expect.poll(() => networksOf(version)).toEqual([])
        await next.close()
      },
    ],
  ])('unused networks of a removed container are removed by %s; those in use are kept', async (_, remove) => {
    const other = await start('web', { network: { name: `${version}-other`, aliases: [], parts: [part('front')] } })
    const web = await start('web', on(part('front'), part('back', true)))
    await engine.getContainer(containerName(web.instanceId)).remove({ force: true })
    expect(await networksOf(version)).toHaveLength(2)
    await remove()
    expect(await networksOf(version)).toEqual([])
    expect(await networksOf(`${version}-other`)).toHaveLength(1)
    await runtime.stop(other.instanceId, { graceSeconds: 0 }, neverAborted)
  })

  test('several instances of a service answer to one name', async () => {
    const name = on(part('default', false, 'web'))
    const web = [
      await start('web', { command: serves(7000, 'one'), ...name }),
      await start('web', { command: serves(7000, 'two'), ...name }),
    ]
    const seen = new Set<string>()
    const client = await start('client', on(part('default', false, 'client')))
    await expect
      .poll(async () => {
        const body = await get(client.instanceId, 'web:7000')
        if (body) seen.add(body)
        return [...seen].sort()
      })
      .toEqual(['one', 'two'])
    for (const { instanceId } of [...web, client]) await runtime.stop(instanceId, { graceSeconds: 0 }, neverAborted)
  })

  test('a service without a network has loopback only', async () => {
    const alone = await start('job', on())
    expect((await inside(alone.instanceId, 'ls', '/sys/class/net')).out).toBe('lo')
    await runtime.stop(alone.instanceId, { graceSeconds: 0 }, neverAborted)
  })

  test('files with content exist at start with their mode and owner, and are in no image', async () => {
    const files = [
      { path: '/run/secrets/token', content: `s3cret-${seed}`, mode: 0o400, uid: 1000, gid: 1001 },
      { path: '/deep/er/app.conf', content: 'a=1\n', mode: 0o444, uid: 0, gid: 0 },
    ]
    const app = await start('app', { files, command: ['sh', '-c', 'cat /deep/er/app.conf > /seen; exec sleep 600'] })
    await expect.poll(async () => (await inside(app.instanceId, 'cat', '/seen')).out).toBe('a=1')
    expect((await inside(app.instanceId, 'stat', '-c', '%a %u %g', '/run/secrets/token')).out).toBe('400 1000 1001')
    const { Config, HostConfig, Image } = await engine.getContainer(containerName(app.instanceId)).inspect()
    const history = await engine.getImage(Image).history()
    expect(JSON.stringify([Config, HostConfig, history])).not.toContain(`s3cret-${seed}`)
    await runtime.stop(app.instanceId, { graceSeconds: 0 }, neverAborted)
  })

  test('the output of a service with a terminal is read unchanged', async () => {
    const app = await start('app', { container: { tty: true }, command: ['sh', '-c', 'tty; echo one; echo two >&2'] })
    const lines: string[] = []
    for await (const { message } of runtime.logs(app.instanceId, null, neverAborted)) lines.push(message)
    expect(lines).toEqual([expect.stringMatching(/^\/dev\/pts|^\/dev\/console/), 'one', 'two'])
    await runtime.stop(app.instanceId, { graceSeconds: 0 }, neverAborted)
  })

  test('an image for another platform than the service names is refused', async () => {
    const { Architecture } = await engine.getImage(partOf('busyboxImage')).inspect()
    const other = Architecture === 'amd64' ? 'linux/arm64' : 'linux/amd64'
    await expect(start('app', { container: { platform: other } })).rejects.toThrow(`requires the platform ${other}`)
    const same = await start('app', { container: { platform: `linux/${Architecture}` } })
    await runtime.stop(same.instanceId, { graceSeconds: 0 }, neverAborted)
  })
})
