// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the variables are Compose's
import { describe, expect, test } from 'vitest'
import { gives, read, web } from './compose-case.ts'
import type { ComposeService } from './model.ts'

test('a complete file is read without warnings', () => {
  const file = read(`
name: shop
version: "3.9"
x-logging: &unused { driver: none }
services:
  web:
    build: .
    ports: ["8080:3000"]
    depends_on: [db]
  db:
    image: postgres:16
    volumes: [data:/var/lib/postgresql/data]
volumes:
  data:
networks:
  default: { internal: true }
`)
  const empty = web('image: nginx').web
  expect(file).toEqual({
    name: 'shop',
    services: [
      {
        ...empty,
        image: null,
        build: { context: '.', dockerfile: null, dockerfileInline: null, args: {}, target: null },
        ports: [{ hostIp: null, published: 8080, target: 3000, protocol: 'tcp' }],
        dependsOn: [{ service: 'db', condition: 'service_started', required: true }],
      },
      {
        ...empty,
        name: 'db',
        image: 'postgres:16',
        volumes: [{ type: 'volume', source: 'data', target: '/var/lib/postgresql/data', readOnly: false }],
      },
    ],
    volumes: [{ name: 'data', hostName: null, external: false, labels: {} }],
    networks: [{ name: 'default', hostName: null, external: false, internal: true }],
    missing: [],
    warnings: [],
    refused: [],
  })
})

describe('variables, anchors, merge keys and extensions', () => {
  test('variables are substituted everywhere except in keys', () =>
    gives(
      'command: app:${TAG:-latest}\nports: ["${PORT}:80"]\nenvironment: { $A: $A, B: $$A }',
      {
        command: { kind: 'shell', line: 'app:latest' },
        environment: { $A: 'x', B: '$A' },
        ports: [{ hostIp: null, published: 8080, target: 80, protocol: 'tcp' }],
      },
      { env: { PORT: '8080', A: 'x' } },
    ))
  test('an unset variable is empty, with a warning', () => {
    const file = web('environment: { A: "${GONE}!" }')
    expect(file.web.environment).toEqual({ A: '!' })
    expect(file.warnings).toEqual([
      { path: 'services.web.environment.A', message: 'the variable GONE is not set; an empty text is used' },
    ])
  })
  test('a field without effect is a warning, and an unknown one is refused', () => {
    const file = web('logging: { driver: none }\nunheard_of: 1')
    expect(file.warnings).toEqual([
      { path: 'services.web.logging', message: 'has no effect: Berth keeps the output of every service' },
    ])
    expect(file.refused).toEqual([{ path: 'services.web.unheard_of', message: expect.stringMatching(/is not supported/) }])
  })
  test('a required variable is named with its message', () => {
    const file = web('environment: { A: "${KEY:?set the key}" }')
    expect(file.missing).toEqual([{ path: 'services.web.environment.A', variable: 'KEY', message: 'set the key' }])
    expect(file.refused).toEqual([])
  })
  test('anchors and merge keys are applied, with own values first', () => {
    const file = read(`
x-base: &base
  restart: always
  environment: &env { A: "1", B: "2" }
services:
  web:
    <<: *base
    image: web
    environment: { <<: *env, B: "3" }
  api: { <<: [*base], image: api }
`)
    expect(file.services.map(({ restart, environment }) => [restart?.policy, environment])).toEqual([
      ['always', { A: '1', B: '3' }],
      ['always', { A: '1', B: '2' }],
    ])
    expect([file.warnings, file.refused]).toEqual([[], []])
  })
  test('extension fields are ignored, except as labels', () =>
    gives('x-anything: { privileged: true, a: $GONE }\nlabels: { x-tier: front }', { labels: { 'x-tier': 'front' } }))
  test('a service can extend another one of the file', () => {
    const file = read(`
services:
  base:
    image: base
    command: [a, b]
    environment: [A=1, B=2]
    ports: ["80"]
    labels: { l: one }
  web:
    extends: { service: base }
    command: [c]
    environment: { B: "3", C: "4" }
    ports: ["81"]
  api: { extends: web, image: api }
`)
    const [, webService, api] = file.services
    expect(webService).toMatchObject({
      image: 'base',
      command: { argv: ['c'] },
      environment: { A: '1', B: '3', C: '4' },
      labels: { l: 'one' },
    })
    expect(webService!.ports.map((port) => port.target)).toEqual([80, 81])
    expect(api).toMatchObject({ image: 'api', command: { argv: ['c'] } })
    expect([file.warnings, file.refused]).toEqual([[], []])
  })
  test('a cycle of extends is refused', () => {
    const file = read('services:\n  a: { image: x, extends: b }\n  b: { image: x, extends: a }')
    expect(file.refused).toEqual([{ path: 'services.b.extends', message: 'the service extends itself: a → b → a' }])
  })
  test('a missing included or extended file is refused', () => {
    const file = web('extends: { file: common.yml, service: base }', {}, 'include: [./other.yml]')
    expect(file.refused).toMatchObject([
      { path: 'include.0', message: expect.stringContaining('"./other.yml" is not included') },
      { path: 'services.web.extends', message: expect.stringContaining('"common.yml" could not be read') },
    ])
    expect(file.warnings).toEqual([])
  })
})

describe('a setting without effect on the running service is a warning that names its path', () => {
  test.each([
    ['logging: { driver: syslog }', 'services.web.logging'],
    ['annotations: { a: b }', 'services.web.annotations'],
    ['attach: false', 'services.web.attach'],
    ['develop: { watch: [] }', 'services.web.develop'],
    ['build: { context: ., cache_from: [x] }', 'services.web.build.cache_from'],
    ['deploy: { placement: {} }', 'services.web.deploy.placement'],
    ['deploy: { resources: { reservations: { cpus: "1" } } }', 'services.web.deploy.resources.reservations.cpus'],
    ['security_opt: ["label:type:svirt_t"]', 'services.web.security_opt.0'],
  ])('%s', (fields, path) => {
    const file = web(fields)
    expect(file.warnings.map((one) => one.path)).toEqual([path])
    expect(file.refused).toEqual([])
  })
})

describe('a supported setting gives no warning', () => {
  test.each<[string, Partial<ComposeService>]>([
    ['container_name: mine', { containerName: 'mine' }],
    ['dns: 1.1.1.1', { dns: ['1.1.1.1'] }],
    [
      'dns_search: [a.b]\ndns_opt: ["ndots:1"]\ndomainname: a.b',
      { dnsSearch: ['a.b'], dnsOptions: ['ndots:1'], domainname: 'a.b' },
    ],
    ['platform: linux/amd64', { platform: 'linux/amd64' }],
    ['tty: true\nstdin_open: true', { tty: true, stdinOpen: true }],
    ['group_add: [docker, 1000]', { groups: ['docker', '1000'] }],
    ['deploy: { mode: global }', { replicas: null }],
    ['deploy: { resources: { reservations: { memory: 1g } } }', { memoryReservationMb: 1024 }],
    ['mem_reservation: 64m', { memoryReservationMb: 64 }],
    ['cpu_quota: 50000\ncpu_period: 100000', { cpuCores: 0.5 }],
    ['network_mode: none', { networkMode: 'none' }],
    ['network_mode: bridge', { networkMode: 'bridge' }],
    ['ipc: shareable', {}],
    ['pull_policy: missing', {}],
    ['cap_add: [SYS_CHROOT, CHOWN]', { capAdd: ['SYS_CHROOT'] }],
    ['volumes: ["/etc/localtime:/etc/localtime:ro"]', { timeFiles: ['/etc/localtime'], volumes: [] }],
    ['ulimits: { memlock: -1 }', { ulimits: [{ name: 'memlock', soft: -1, hard: -1 }] }],
    ['scale: 3', { replicas: 3 }],
  ])('%s', (fields, expected) => gives(fields, expected))
})

describe('an unsupported setting is refused by path', () => {
  test.each([
    ['future_field: 1', 'services.web.future_field'],
    ['constructor: 1', 'services.web.constructor'],
    ['ulimits: { rtprio: 99 }', 'services.web.ulimits.rtprio'],
    ['extra_hosts: ["a:host-gateway"]', 'services.web.extra_hosts.0'],
    ['runtime: nvidia', 'services.web.runtime'],
    ['mac_address: 02:42:ac:11:65:43', 'services.web.mac_address'],
    ['memswap_limit: 2g', 'services.web.memswap_limit'],
    ['oom_score_adj: -500', 'services.web.oom_score_adj'],
    ['pull_policy: always', 'services.web.pull_policy'],
    ['ulimits: { nofile: 9999999 }', 'services.web.ulimits.nofile'],
    ['env_file: [{ path: a.env, format: raw }]', 'services.web.env_file.0.format'],
    ['networks: { default: { ipv4_address: 10.0.0.2 } }', 'services.web.networks.default.ipv4_address'],
    ['build: { context: ., additional_contexts: { a: ./b } }', 'services.web.build.additional_contexts.a'],
    ['build: { context: ., secrets: [a] }', 'services.web.build.secrets'],
    ['healthcheck: { interval: 5s }', 'services.web.healthcheck'],
    ['volumes: ["data:/x:nocopy"]', 'services.web.volumes.0'],
    ['volumes: ["/etc/localtime:/etc/localtime"]', 'services.web.volumes.0'],
    ['tmpfs: "/run:suid"', 'services.web.tmpfs'],
    ['depends_on: { gone: { condition: service_started } }', 'services.web.depends_on'],
    ['cap_add: [NET_RAW]', 'services.web.cap_add.0'],
    ['build: { context: ., network: none }', 'services.web.build.network'],
    ['healthcheck: { test: [CURL, x] }', 'services.web.healthcheck.test'],
    ['healthcheck: { test: x, interval: soon }', 'services.web.healthcheck.interval'],
    ['deploy: { mode: global-job }', 'services.web.deploy.mode'],
    [
      'deploy: { resources: { reservations: { generic_resources: [] } } }',
      'services.web.deploy.resources.reservations.generic_resources',
    ],
    ['mem_limit: lots', 'services.web.mem_limit'],
    ['cpus: many', 'services.web.cpus'],
    ['init: maybe', 'services.web.init'],
    ['restart: sometimes', 'services.web.restart'],
    ['user: { a: b }', 'services.web.user'],
    ['environment: 5', 'services.web.environment'],
    ['volumes: [{ type: image, source: x, target: /x }]', 'services.web.volumes.0.type'],
    [
      'volumes: [{ type: bind, source: ./a, target: /x, bind: { propagation: rshared } }]',
      'services.web.volumes.0.bind.propagation',
    ],
    ['volumes: ["./a:/x:rshared"]', 'services.web.volumes.0'],
    ['volumes_from: [other]', 'services.web.volumes_from'],
    ['network_mode: "service:vpn"', 'services.web.network_mode'],
    ['ipc: none', 'services.web.ipc'],
    ['ipc: "service:other"', 'services.web.ipc'],
    ['post_start: [{ command: ls }]', 'services.web.post_start'],
  ])('%s', (fields, path) => {
    const file = web(fields, {}, 'volumes: { data: }')
    expect(file.refused.map((one) => one.path)).toEqual([path])
    expect(file.warnings).toEqual([])
  })
  test('at the top of the file', () => {
    const file = read(
      'services: { a: { image: x } }\nmodels: {}\nnetworks: { n: { ipam: { config: [{ subnet: 10.0.0.0/24 }] }, enable_ipv6: true, driver_opts: { mtu: 1 } }, o: { external: true, name: proxy } }\nvolumes: { v: { driver: nfs }, w: { external: true }, t: { driver_opts: { type: tmpfs, device: tmpfs } } }',
    )
    expect(file.refused.map((one) => one.path)).toEqual([
      'models',
      'volumes.v.driver',
      'volumes.w.external',
      'volumes.t.driver_opts',
      'networks.n.ipam.config.0',
      'networks.n.enable_ipv6',
      'networks.n.driver_opts',
      'networks.o.external',
    ])
    expect(file.volumes[1]).toEqual({ name: 'w', hostName: null, external: true, labels: {} })
    expect(file.networks[1]).toEqual({ name: 'o', hostName: 'proxy', external: true, internal: false })
    expect(file.warnings).toEqual([])
  })
})

test('a tag of override files is refused, and its value is ignored', () => {
  const { web: service, refused } = web('command: !reset null')
  expect(service.command).toBeNull()
  expect(refused.map(({ message }) => message)).toEqual([expect.stringContaining('!reset')])
})
