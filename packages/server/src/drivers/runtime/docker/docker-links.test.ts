import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeNeeding, partOf } from '../../../../../../tests/kit/machine.ts'
import type { Instance, LinkNetwork, Runtime } from '../runtime.ts'
import { createDockerRuntime } from './docker-runtime.ts'
import { type Engine, openEngine } from './engine.ts'
import { readIdentity } from './identity.ts'
import { removeEverythingOf } from './remove-everything.ts'

const neverAborted = new AbortController().signal
const serves = (text: string) => [
  'sh',
  '-c',
  `mkdir -p /tmp/w; echo ${text} > /tmp/w/index.html; exec httpd -f -p 7000 -h /tmp/w`,
]

describeNeeding(['docker', 'dockerIsolation', 'busyboxImage'], 'Networks of links in Docker', () => {
  const seed = randomBytes(4).toString('hex')
  let folder: string
  let engine: Engine
  let runtime: Runtime

  /** An instance of a project of its own; without a service name it is on the network that projects share. */
  const start = (project: string, service: string, links: LinkNetwork[], command = serves(project)) =>
    runtime.start(
      {
        instanceId: `ins_${seed}${project}`,
        owner: { projectId: `prj_${seed}${project}`, deploymentId: `dep_${seed}${project}`, environment: 'production' },
        service,
        artifact: { kind: 'image', reference: partOf('busyboxImage'), sizeBytes: 0, startCommand: null },
        command,
        entrypoint: null,
        env: {},
        port: 7000,
        volumes: [],
        network: service ? { name: `prj_${seed}${project}-production-1`, aliases: [service], services: 1 } : null,
        links,
        resources: { cpuCores: 1, memoryMb: 64, diskMb: 500 },
        restart: false,
      },
      neverAborted,
    )
  const get = async ({ instanceId }: Instance, host: string) => {
    let out = ''
    const argv = ['sh', '-c', `printf 'GET / HTTP/1.0\\r\\n\\r\\n' | timeout 3 nc ${host} 7000`]
    const onStdout = (chunk: Uint8Array) => {
      out += new TextDecoder().decode(chunk)
    }
    await runtime.exec(instanceId, { argv, onStdout }, neverAborted)
    return out.split('\r\n\r\n')[1]?.trim() ?? ''
  }
  const linkNetworks = () =>
    engine.listNetworks({ filters: { label: ['berth.kind=link', `berth.instance=${readIdentity(folder).instance}`] } })

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'berth-links-'))
    engine = openEngine(partOf('docker'))
    runtime = createDockerRuntime({ socketPath: partOf('docker'), folder, imageMirror: null })
  })
  afterAll(async () => {
    await runtime.close()
    await removeEverythingOf(readIdentity(folder).instance, partOf('docker'))
    await rm(folder, { recursive: true, force: true })
  })

  test('a project reaches the linked service by its host name, and no other project does; a removed link ends it', async () => {
    const [one, two] = ['link/one', 'link/two'].map((name): LinkNetwork => ({ name, aliases: [], containers: 2 })) as [
      LinkNetwork,
      LinkNetwork,
    ]
    const host = 'db.berth.internal'
    const db = await start('db', 'postgres', [])
    const shop = await start('shop', '', [one])
    const other = await start('other', '', [two])
    expect(await get(shop, host)).toBe('')
    // The service runs already: it joins, twice without effect.
    for (const link of [one, one, two]) await runtime.joinLink?.(db.instanceId, { ...link, aliases: [host] }, neverAborted)
    await expect.poll(() => get(shop, host)).toBe('db')
    await expect.poll(() => get(other, host)).toBe('db')
    // Projects that use one service do not reach each other: not by name, and not by address.
    const containers = await engine.listContainers({ filters: { label: [`berth.project=prj_${seed}other`] } })
    const addresses = Object.values(containers[0]?.NetworkSettings.Networks ?? {}).map(({ IPAddress }) => IPAddress)
    expect(addresses).toHaveLength(2)
    for (const name of ['other', ...addresses]) expect(await get(shop, name)).toBe('')
    expect((await linkNetworks()).map(({ Internal }) => Internal)).toEqual([true, true])

    // Replicas and previews that come later need addresses too.
    const prefixes = (await linkNetworks()).map(({ IPAM }) => Number(IPAM?.Config?.[0]?.Subnet?.split('/')[1]))
    for (const bits of prefixes) expect(2 ** (32 - bits)).toBeGreaterThanOrEqual(64)

    // The service stops: the networks stay for its next instance, which joins at its start.
    await runtime.stop(db.instanceId, { graceSeconds: 0 }, neverAborted)
    expect(await linkNetworks()).toHaveLength(2)
    await start(
      'db',
      'postgres',
      [
        { ...one, aliases: [host] },
        { ...two, aliases: [host] },
      ],
      serves('again'),
    )
    await expect.poll(() => get(shop, host)).toBe('again')

    for (let times = 0; times < 2; times++) await runtime.removeLink?.(one.name, neverAborted)
    expect(await get(shop, host)).toBe('')
    expect(await get(other, host)).toBe('again')
    expect(await linkNetworks()).toHaveLength(1)
    await runtime.joinLink?.('ins_gone', one, neverAborted)
    expect(await linkNetworks()).toHaveLength(1)
  })
})
