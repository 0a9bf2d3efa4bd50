import { randomBytes } from 'node:crypto'
import type { ContainerCreateOptions } from 'dockerode'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeNeeding, partOf } from '../../../../../../tests/kit/machine.ts'
import { type Sshd, startSshd } from '../../../../../../tests/kit/sshd.ts'
import { linksTo } from '../../shell/ssh/test-server.ts'
import { type Engine, openEngine } from '../docker/engine.ts'
import { createServerReader } from './read-server.ts'

const neverAborted = new AbortController().signal

describeNeeding(['sshd', 'docker', 'busyboxImage'], 'data read from a server', () => {
  let sshd: Sshd
  let engine: Engine
  const mark = randomBytes(6).toString('hex')
  const made: { remove(options: object): Promise<unknown> }[] = []
  const make = async (name: string, settings: ContainerCreateOptions = {}) => {
    // Query and body are given separately, or the client would send the body in the URL as well.
    const requested = {
      _query: { name: `${mark}-${name}` },
      _body: { Image: partOf('busyboxImage'), Cmd: ['sleep', '60'], ...settings },
    }
    const container = await engine.createContainer(requested as ContainerCreateOptions)
    made.push(container)
    return container
  }
  beforeAll(async () => {
    sshd = await startSshd(partOf('sshd'))
    engine = openEngine(partOf('docker'))
  })
  afterAll(async () => {
    await Promise.all(made.map((one) => one.remove({ force: true, v: true })))
    await sshd?.[Symbol.asyncDispose]()
  })

  test('a container is read unchanged, with any characters in its names and values', async () => {
    const odd = '\u001b[31m$(touch /tmp/x)`;"\'\n--privileged \u202e'
    await make('web', {
      Env: ['SHOP=open', `ODD=${odd}`],
      Labels: { 'com.docker.compose.project': 'shop', ['__proto__']: 'polluted', odd },
      ExposedPorts: { '80/tcp': {} },
      Healthcheck: { Test: ['CMD', 'true'], Interval: 5e9, Retries: 3 },
      HostConfig: {
        PortBindings: { '80/tcp': [{ HostIp: '127.0.0.1', HostPort: '18080' }] },
        Memory: 64 * 1024 * 1024,
        ShmSize: 128 * 1024 * 1024,
        Init: true,
        AutoRemove: true,
        Mounts: [{ Type: 'volume', Source: `${mark}-data`, Target: '/data', ReadOnly: true }],
      },
    })
    const { links, link } = linksTo(sshd, partOf('docker'))
    const read = await createServerReader(link).readDocker(neverAborted)
    const web = read.containers.find(({ name }) => name === `${mark}-web`)
    expect(web).toMatchObject({
      state: 'created',
      env: expect.arrayContaining(['SHOP=open', `ODD=${odd}`]),
      command: ['sleep', '60'],
      removedAtEnd: true,
      unusual: ['128 MB of shared memory', 'an init process'],
      ports: [{ containerPort: 80, protocol: 'tcp', hostPort: 18_080, hostIp: '127.0.0.1' }],
      mounts: [{ type: 'volume', source: `${mark}-data`, target: '/data', readOnly: true }],
      healthCheck: { test: ['CMD', 'true'], intervalSeconds: 5, retries: 3 },
      limits: { memoryBytes: 64 * 1024 * 1024 },
    })
    expect(web?.labels.odd).toBe(odd)
    expect(Object.getPrototypeOf(web?.labels)).toBe(null)
    expect(read.images.get(web?.imageId ?? '')?.tags).toContain(partOf('busyboxImage'))
    expect(read.volumes.map(({ name }) => name)).toContain(`${mark}-data`)
    expect(read.networks.map(({ name }) => name)).toContain('bridge')
    expect(read.version).toMatch(/^\d+\./)
    await links.close()
    await engine.getContainer(`${mark}-web`).remove({ force: true })
    made.pop()
    await engine.getVolume(`${mark}-data`).remove()
  })

  test('a container with too much data is skipped with a warning, and the others are read', async () => {
    await make('before')
    await make('huge', { Labels: { huge: 'x'.repeat(6 * 1024 * 1024) } })
    await make('after')
    const { links, link } = linksTo(sshd, partOf('docker'))
    const { containers, warnings } = await createServerReader(link).readDocker(neverAborted)
    const names = containers.map(({ name }) => name)
    expect(names).toEqual(expect.arrayContaining([`${mark}-before`, `${mark}-after`]))
    expect(names).not.toContain(`${mark}-huge`)
    expect(warnings.join()).toContain('larger than 1 MB')
    await links.close()
  })
})
