// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the variables are Compose's
import { describe, expect, test } from 'vitest'
import type { ReadContainer } from '../../drivers/runtime/server/server-reader.ts'
import { FileUnreadable, type ServerFiles } from '../../drivers/shell/ssh/server-files.ts'
import { readStack } from '../../source/compose/index.ts'
import { adoptionOf } from './adoption.ts'
import { discover } from './discover.ts'
import { planOfAdoption } from './plan.ts'
import { stackOf } from './stack.ts'
import { aContainer, dockerWith, ofStack } from './test-container.ts'

const neverAborted = new AbortController().signal

/** A server with the given files, whose engine reports the given containers. */
function found(containers: ReadContainer[], files: Record<string, string> = {}) {
  const read: ServerFiles['read'] = async (path) => {
    const text = files[path]
    if (text === undefined) throw new FileUnreadable('missing', `${path} is not there`)
    if (text === 'denied') throw new FileUnreadable('denied', `${path} may not be read`)
    return Buffer.from(text)
  }
  const reader = { readDocker: async () => dockerWith(...containers), files: { read } as ServerFiles }
  return discover(reader, { readStack: async (stack) => readStack(stack), organizationId: 'org_1', abort: neverAborted })
}
const scanned = async (...given: Parameters<typeof found>) => stackOf('srv_1', await found(...given), new Map())

describe('a scan', () => {
  test('distinguishes stacks, their services and containers started by hand', async () => {
    const stack = await scanned([aContainer('shop-web-1', { labels: ofStack('shop', 'web') }), aContainer('by-hand')], {
      '/srv/shop/compose.yaml': 'services:\n  web: { image: "web:1" }\n  worker: { image: w, profiles: [extra] }',
    })
    expect(stack.composeProjects).toMatchObject([
      {
        name: 'shop',
        workingDir: '/srv/shop',
        fileState: 'read',
        services: [
          { name: 'web', source: 'compose', adoptable: true, drift: [] },
          { name: 'worker', state: 'not_started', adoptable: false, containerId: null },
        ],
      },
    ])
    expect(stack.containers).toMatchObject([{ name: 'by-hand', source: 'container', adoptable: true }])
    expect(stack.summary).toMatchObject({ composeProjects: 1, services: 2, containers: 1, adoptable: 2 })
  })

  test('shows drift by field, and services without a container', async () => {
    const container = aContainer('shop-web-1', {
      labels: ofStack('shop', 'web'),
      env: ['MODE=old'],
      ports: [{ containerPort: 80, hostPort: 8080, hostIp: null, protocol: 'tcp' }],
      restart: 'always',
    })
    const text =
      'services:\n  web: { image: "web:2", environment: { MODE: new }, ports: ["80:80"], restart: always }\n  db: { image: pg }'
    const { composeProjects } = await scanned([container], { '/srv/shop/compose.yaml': text })
    expect(composeProjects).toMatchObject([
      {
        fileState: 'drifted',
        services: [
          { name: 'web', drift: ['image', 'environment', 'ports'] },
          { name: 'db', state: 'missing', adoptable: false },
        ],
      },
    ])
  })

  test.each([
    ['missing', {}],
    ['unreadable', { '/srv/shop/compose.yaml': 'denied' }],
    ['unreadable', { '/srv/shop/compose.yaml': '{{{' }],
  ])('reports a file that is %s', async (fileState, files) => {
    const { composeProjects } = await scanned([aContainer('a', { labels: ofStack('shop', 'web') })], files)
    expect(composeProjects).toMatchObject([{ fileState, services: [{ name: 'web', adoptable: true, drift: [] }] }])
  })

  test('ignores a label that does not name a regular file', async () => {
    const labels = ofStack('shop', 'web', { 'com.docker.compose.project.config_files': '/srv/../proc/kmsg' })
    const stack = await scanned([aContainer('shop-web-1', { labels })], { '/srv/../proc/kmsg': 'services: {}' })
    expect(stack.composeProjects).toMatchObject([{ fileState: 'unreadable', services: [{ adoptable: true }] }])
    expect(stack.warnings.join()).toContain('not a regular file')
  })

  test('masks every value of a variable, and omits variables of the image', async () => {
    const { containers } = await scanned([aContainer('a', { env: ['PATH=/bin', 'MODE=image', 'PASSWORD=canary'] })])
    expect(containers[0]?.env).toEqual({ PASSWORD: '••••••••' })
    expect(JSON.stringify(containers)).not.toContain('canary')
  })

  test('returns no terminal control characters', async () => {
    const bad = '\u001b[2Jx\u202e\n'
    const stack = await scanned([aContainer(bad, { image: bad, labels: { [bad]: bad }, env: [`${bad}=1`], command: [bad] })])
    expect(JSON.stringify(stack)).not.toMatch(/\\u001b|\\n|\u202e/)
  })

  test.each<[string, Partial<ReadContainer>]>([
    ['Berth', { labels: { 'berth.instance': 'x' } }],
    ['privileged', { rights: { ...aContainer('a').rights, privileged: true } }],
    ['host network', { networkMode: 'host' }],
    ['Docker socket', { mounts: [{ type: 'bind', source: '/var/run/docker.sock', target: '/s', readOnly: false }] }],
    ['system folder', { mounts: [{ type: 'bind', source: '/', target: '/host', readOnly: true }] }],
    ['system folder', { mounts: [{ type: 'bind', source: '/var/lib/docker/x', target: '/d', readOnly: true }] }],
    ['--rm', { removedAtEnd: true }],
    ['devices', { rights: { ...aContainer('a').rights, devices: ['/dev/kmsg'] } }],
    ['one-off command', { labels: ofStack('shop', 'web', { 'com.docker.compose.oneoff': 'True' }) }],
  ])('reports why a service is not adoptable: %s', async (message, more) => {
    const stack = await scanned([aContainer('a', more)])
    const [service] = [...stack.containers, ...stack.composeProjects.flatMap(({ services }) => services)]
    expect(service).toMatchObject({ adoptable: false, reason: expect.stringContaining(message) })
  })
})

describe('a volume that is an alias of a host path', () => {
  test.each([
    ['/etc', false],
    ['/dev/sda1', false],
    ['/home/shop/data', true],
  ])('%s: adoptable %s', async (device, adoptable) => {
    const container = aContainer('a', { mounts: [{ type: 'volume', source: 'alias', target: '/d', readOnly: false }] })
    const discovery = await found([container])
    discovery.docker.volumes.push({ name: 'alias', driver: 'local', labels: {}, options: { type: 'none', o: 'bind', device } })
    expect(stackOf('srv_1', discovery, new Map()).containers).toMatchObject([{ adoptable }])
  })
})

describe('a mount of a system path of the server', () => {
  const bind = (source: string, readOnly = false) => ({ type: 'bind', source, target: '/d', readOnly })
  const system: ReadContainer['mounts'] = [
    bind('/etc/cron.d'),
    bind('/etc/cron.d/shop', true),
    bind('/etc/../etc//cron.d'),
    bind('/etc/localtime'),
    bind('/root/app'),
    bind('/usr/local/bin'),
    bind('/var/spool/cron'),
    bind('/run/systemd'),
    bind('/home/shop/.ssh', true),
    bind('/home/shop/.bashrc'),
    { type: 'volume', source: 'alias', target: '/d', readOnly: true },
  ]
  const plain: ReadContainer['mounts'] = [
    bind('/etc/localtime', true),
    bind('/srv/shop/etc'),
    bind('/home/shop/data'),
    bind('/opt/shop'),
    bind('/var/lib/postgresql'),
    { type: 'volume', source: 'shop_data', target: '/d', readOnly: false },
  ]
  const shown = async (mount: ReadContainer['mounts'][number], isOperator: boolean) => {
    const discovery = await found([aContainer('a', { mounts: [mount] })])
    const options = { type: 'none', o: 'bind', device: '/etc/cron.d' }
    discovery.docker.volumes.push({ name: 'alias', driver: 'local', labels: {}, options })
    return stackOf('srv_1', discovery, new Map(), isOperator).containers[0]
  }
  test.each(system)('$type $source: adoptable for operators only, with the path in the reason', async (mount) => {
    expect(await shown(mount, true)).toMatchObject({ adoptable: true })
    const reason = expect.stringMatching(/mounts \/(etc|root|usr|var|run|home)\/\S+ of the server's system\. Only an operator/)
    expect(await shown(mount, false)).toMatchObject({ adoptable: false, reason })
  })
  test.each(plain)('$type $source: adoptable for every user who may adopt', async (mount) => {
    expect(await shown(mount, false)).toMatchObject({ adoptable: true })
  })
})

describe('adopting', () => {
  const body = (serviceNames: string[]) => ({ serverId: 'srv_1', projectName: 'Shop', serviceNames })
  const web = aContainer('shop-web-1', {
    labels: ofStack('shop', 'web', { 'com.docker.compose.depends_on': 'db:service_healthy:true,cache:service_started:false' }),
    env: ['PATH=/bin', 'MODE=image', 'PASSWORD=w'],
    command: ['serve', '--fast'],
    ports: [{ containerPort: 3000, hostPort: 80, hostIp: null, protocol: 'tcp' }],
    limits: { memoryBytes: 256 * 1024 ** 2, nanoCpus: 5e8, pids: 0 },
  })
  const db = aContainer('shop-db-1', {
    labels: ofStack('shop', 'db'),
    env: ['PATH=/bin', 'MODE=image', 'PASSWORD=d'],
    mounts: [
      { type: 'volume', source: 'shop_data', target: '/data', readOnly: false },
      { type: 'bind', source: '/srv/shop/conf', target: '/conf', readOnly: true },
    ],
    healthCheck: { test: ['CMD', 'ready'], intervalSeconds: 5, timeoutSeconds: 2, retries: 3, startPeriodSeconds: null },
    restart: 'always',
  })

  test('keeps the own settings of a service, its variables as secrets, and its data in place', async () => {
    const { parts, volumes } = adoptionOf(body(['web', 'db']), await found([web, db]), new Map())
    const [first, second] = parts.map(({ adopted }) => adopted)
    expect(first?.service).toMatchObject({
      name: 'web',
      image: 'web:1',
      command: ['serve', '--fast'],
      entrypoint: null,
      environment: { PASSWORD: '${WEB_PASSWORD}' },
      ports: [3000],
      exposed: true,
      // The cache was not adopted.
      dependsOn: ['db'],
      cpuCores: 0.5,
      memoryMb: 256,
    })
    expect(second?.service).toMatchObject({
      command: null,
      exposed: false,
      restart: 'always',
      environment: { PASSWORD: '${DB_PASSWORD}' },
    })
    expect([first, second].flatMap((one) => one?.variables)).toEqual([
      { key: 'WEB_PASSWORD', value: 'w' },
      { key: 'DB_PASSWORD', value: 'd' },
    ])
    expect(JSON.stringify(parts.map(({ adopted }) => adopted.service))).not.toMatch(/"[wd]"/)
    expect([...volumes]).toEqual([
      ['shop_data', { volume: 'shop_data' }],
      ['folder-srv-shop-conf', { path: '/srv/shop/conf' }],
    ])
  })

  test('names are made unique and the change is reported', async () => {
    const other = aContainer('other', { labels: ofStack('blog', 'web') })
    const { parts, renamed } = adoptionOf(body(['shop/web', 'blog/web']), await found([web, db, other]), new Map())
    expect(parts.map(({ adopted }) => adopted.service.name)).toEqual(['web', 'web-2'])
    expect(renamed).toEqual({ 'blog/web': 'web-2' })
  })

  test('dependencies of a service are resolved within its stack, by their new names', async () => {
    const blogDb = aContainer('blog-db', { labels: ofStack('blog', 'db') })
    const blog = aContainer('blog-web', {
      labels: ofStack('blog', 'web', { 'com.docker.compose.depends_on': 'db:service_started:false' }),
    })
    const { parts } = adoptionOf(
      body(['shop/web', 'shop/db', 'blog/web', 'blog/db']),
      await found([web, db, blog, blogDb]),
      new Map(),
    )
    expect(parts.map(({ adopted }) => [adopted.service.name, adopted.service.dependsOn])).toEqual([
      ['web', ['db']],
      ['db', []],
      ['web-2', ['db-2']],
      ['db-2', []],
    ])
  })

  test('volumes and variables with similar names stay distinct', async () => {
    const bind = (source: string) => [{ type: 'bind', source, target: '/d', readOnly: false }]
    const one = aContainer('web', { env: ['API_KEY=1'], mounts: bind('/srv/a/b') })
    const two = aContainer('web-api', { env: ['KEY=2'], mounts: bind('/srv/a-b') })
    const { parts, volumes } = adoptionOf(body(['web', 'web-api']), await found([one, two]), new Map())
    expect([...volumes]).toEqual([
      ['folder-srv-a-b', { path: '/srv/a/b' }],
      ['folder-srv-a-b-2', { path: '/srv/a-b' }],
    ])
    expect(parts.flatMap(({ adopted }) => adopted.variables)).toEqual([
      { key: 'WEB_API_KEY', value: '1' },
      { key: 'WEB_API_KEY_2', value: '2' },
    ])
    expect(parts[1]?.adopted.service.environment).toEqual({ KEY: '${WEB_API_KEY_2}' })
  })

  test('all replicas of a service are adopted, with a warning that it will run once', async () => {
    const replica = (number: string) =>
      aContainer(`shop-web-${number}`, { labels: ofStack('shop', 'web', { 'com.docker.compose.container-number': number }) })
    const { parts, warnings } = adoptionOf(body(['web']), await found([replica('2'), replica('1')]), new Map())
    expect(parts.map(({ named }) => [named.container.name, named.replicas.map(({ name }) => name)])).toEqual([
      ['shop-web-1', ['shop-web-2']],
    ])
    expect(warnings.join()).toContain('it had 2 replicas')
  })

  test('lost settings are reported: limits, names, an internal network, the stop signal', async () => {
    const odd = aContainer('db_old', {
      labels: ofStack('shop', 'db'),
      networks: { inner: ['db', 'id-of-db_old', 'primary'] },
      unusual: ['256 MB of shared memory'],
      stopSignal: 'SIGINT',
      stopGraceSeconds: 60,
    })
    const discovery = await found([odd])
    discovery.docker.networks.push({ name: 'inner', driver: 'bridge', labels: {}, internal: true })
    const output = adoptionOf(body(['db']), discovery, new Map()).warnings.join('\n')
    for (const message of [
      '256 MB of shared memory',
      'SIGINT',
      'stop timeout was 60 s',
      'was internal',
      'aliases db_old, primary',
    ])
      expect(output).toContain(message)
  })

  test('variables with names that only Docker accepts are kept; image names with and without the hub are equal', async () => {
    const odd = aContainer('es', {
      env: ['discovery.type=single', 'discovery-type=other', '__proto__=x'],
      image: 'docker.io/library/web:1',
    })
    const { parts, warnings } = adoptionOf(body(['es']), await found([odd]), new Map())
    expect(parts[0]?.adopted.service.environment).toEqual({
      'discovery.type': '${ES_discovery_type}',
      'discovery-type': '${ES_discovery_type_2}',
    })
    expect(parts[0]?.adopted.service.image).toBe('docker.io/library/web:1')
    expect(warnings.join()).toContain('the variable __proto__ cannot be adopted')
  })

  test('a remaining container that uses the same data is reported', async () => {
    const other = aContainer('other', { mounts: [{ type: 'volume', source: 'shop_data', target: '/x', readOnly: true }] })
    const { warnings } = adoptionOf(body(['db']), await found([db, other]), new Map())
    expect(warnings.join()).toContain('the container other uses the same data')
  })

  test('missing, ambiguous and unadoptable services are named', async () => {
    const other = aContainer('other', { labels: ofStack('blog', 'web') })
    const discovery = await found([web, other, aContainer('host', { networkMode: 'host' })])
    const refusal =
      (names: string[], adopted = new Map<string, string>()) =>
      () =>
        adoptionOf(body(names), discovery, adopted)
    expect(refusal(['other', 'nothing'])).toThrow(/serviceNames.1: service nothing does not exist/)
    expect(refusal(['web'])).toThrow(/web is ambiguous: name it as shop\/web or blog\/web/)
    expect(refusal(['host'])).toThrow(/cannot be adopted/)
    expect(refusal(['shop/web'], new Map([[web.id, 'prj_x']]))).toThrow(/already adopted/)
  })

  describe('a service is named `name`, `stack/name` or `container:name`', () => {
    const blogWeb = aContainer('blog-web-1', { labels: ofStack('blog', 'web') })
    const [handRunDb, single] = [aContainer('db'), aContainer('single')]
    const all = [web, db, blogWeb, handRunDb, single]
    test.each([
      ['shop/web', 'shop-web-1'],
      ['blog/web', 'blog-web-1'],
      ['shop/db', 'shop-db-1'],
      ['container:db', 'db'],
      ['single', 'single'],
      ['container:single', 'single'],
      ['container:shop-db-1', 'shop-db-1'],
      ['shop-db-1', 'shop-db-1'],
    ])('%s selects the container %s', async (name, container) => {
      const { parts } = adoptionOf(body([name]), await found(all), new Map())
      expect(parts.map(({ named }) => named.container.name)).toEqual([container])
    })

    test.each([
      ['web', 'serviceNames.0: web is ambiguous: name it as shop/web or blog/web'],
      ['db', 'serviceNames.0: db is ambiguous: name it as shop/db or container:db'],
      ['shop/single', 'serviceNames.0: service shop/single does not exist on the server'],
      ['container:web', 'serviceNames.0: service container:web does not exist on the server'],
      ['container:', 'serviceNames.0: service container: does not exist on the server'],
    ])('%s: 400 with the name', async (name, message) => {
      const discovery = await found(all)
      expect(() => adoptionOf(body([name]), discovery, new Map())).toThrow(message)
    })

    test('several names of one service select one service', async () => {
      const second = aContainer('shop-db-2', { labels: ofStack('shop', 'db', { 'com.docker.compose.container-number': '2' }) })
      const names = ['shop/db', 'container:shop-db-2', 'container:shop-db-1']
      const { parts } = adoptionOf(body(names), await found([db, second]), new Map())
      expect(parts.map(({ named }) => [named.container.name, named.replicas.length])).toEqual([['shop-db-1', 1]])
    })
  })

  test('the plan stops writers of data first, and the rest only after the switch', async () => {
    const plan = planOfAdoption(adoptionOf(body(['web', 'db']), await found([web, db]), new Map())).join('\n')
    expect(plan.indexOf('Stop the container shop-db-1')).toBeLessThan(plan.indexOf('Start db'))
    expect(plan.indexOf('Switch the route')).toBeLessThan(plan.indexOf('Stop and keep the container shop-web-1'))
  })
})
