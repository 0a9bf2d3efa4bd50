import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openEngine } from '../../packages/server/src/drivers/runtime/docker/engine.ts'
import { type Hosting, startHosting } from '../kit/hosting.ts'
import { partOf } from '../kit/machine.ts'
import { describeOnDocker } from '../kit/runtimes.ts'

/** Compose files that name what is another project's: its volume, its network, its container, its labels, its image. */
describeOnDocker('a Compose project that names resources of others', () => {
  let hosting: Hosting
  beforeAll(async () => {
    hosting = await startHosting({ runtime: 'docker' })
  })
  afterAll(() => hosting?.[Symbol.asyncDispose]())

  const server = `const fs = require('fs'); const seen = fs.existsSync('/data/x') ? 'not empty' : 'empty'; fs.writeFileSync('/data/x', '1')
    require('http').createServer((_, answer) => answer.end(seen)).listen(process.env.PORT)`
  const make = async (name: string, more: { service?: object; top?: object }) => {
    const folder = join(hosting.folder, name)
    await mkdir(folder)
    const service = {
      image: partOf('nodeImage'),
      command: ['node', '-e', server],
      ports: ['3000'],
      volumes: ['data:/data'],
      ...more.service,
    }
    await writeFile(
      join(folder, 'compose.yaml'),
      JSON.stringify({ services: { web: service }, volumes: { data: {} }, ...more.top }),
    )
    const project = await hosting.makeProject({ name, localPath: folder, type: 'services' })
    return { project, deployment: await hosting.settled(await hosting.deploy(project.id)) }
  }
  const containerOf = async (projectId: string) => {
    const engine = openEngine(partOf('docker'))
    const [row] = await engine.listContainers({ filters: { label: ['berth.kind=instance', `berth.project=${projectId}`] } })
    return engine.getContainer(row!.Id).inspect()
  }

  test('cannot use volumes, networks or privileges outside its project', async () => {
    const victim = await make('victim', {})
    expect(victim.deployment).toMatchObject({ status: 'live' })
    const its = await containerOf(victim.project.id)
    const [volume] = its.Mounts
    const [network = ''] = Object.keys(its.NetworkSettings.Networks)
    const refused = {
      'volumes.data.external': {},
      'networks.theirs.external': { networks: ['theirs'] },
      'services.web.extra_hosts.0': { extra_hosts: ['metadata:169.254.169.254'] },
      'services.web.dns.0': { dns: ['169.254.169.254'] },
      'services.web.runtime': { runtime: 'other' },
      'services.web.ulimits.nproc': { ulimits: { nproc: 1_000_000 } },
      'services.web.cap_add.0': { cap_add: ['NET_RAW'] },
    }
    const { deployment } = await make('refused', {
      service: Object.assign({}, ...Object.values(refused)),
      top: { volumes: { data: { external: true, name: volume?.Name } }, networks: { theirs: { external: true, name: network } } },
    })
    expect(deployment).toMatchObject({ status: 'failed', error: { code: 'plan_failed' } })
    const log = deployment.error?.logTail.join('\n')
    for (const line of Object.keys(refused)) expect(log).toContain(`refused: compose.yaml, line 1: ${line}: `)
    const thief = await make('thief', {
      service: {
        container_name: its.Name.slice(1),
        labels: { 'berth.project': victim.project.id, 'berth.kind': 'instance', 'berth.id': 'ins_other' },
      },
    })
    expect(thief.deployment).toMatchObject({ status: 'live', error: null })
    expect((await hosting.get(`${thief.project.slug}.localhost`)).text).toBe('empty')
    const own = await containerOf(thief.project.id)
    expect(own.Name).not.toBe(its.Name)
    expect(own.Mounts.map(({ Name, Type }) => [Name === volume?.Name, Type])).toEqual([[false, 'volume']])
    expect(Object.keys(own.NetworkSettings.Networks)).not.toContain(network)
    expect(own.Config.Labels).toMatchObject({ 'berth.project': thief.project.id })
    expect(own.Config.Labels['berth.id']).not.toBe('ins_other')
    expect(own.HostConfig).toMatchObject({ Privileged: false, ExtraHosts: null, Dns: null, Runtime: 'runc', CapDrop: ['ALL'] })
    expect(own.HostConfig.CapAdd?.join()).not.toContain('NET_RAW')
    // Another project's build by its whole id: docker-attack.test.ts.
    const image = await make('copier', { service: { image: its.Image.slice('sha256:'.length, 24) } })
    expect(image.deployment).toMatchObject({ status: 'failed' })
  })
})
