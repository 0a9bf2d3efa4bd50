// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the variables are Compose's
import { describe, expect, test } from 'vitest'
import { gives, read, web } from './compose-case.ts'

test('a whole file becomes a model, with nothing left unsaid', () => {
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
  test('variables are filled in everywhere but in keys', () =>
    gives(
      'command: app:${TAG:-latest}\nports: ["${PORT}:80"]\nenvironment: { $A: $A, B: $$A }',
      {
        command: { kind: 'shell', line: 'app:latest' },
        environment: { $A: 'x', B: '$A' },
        ports: [{ hostIp: null, published: 8080, target: 80, protocol: 'tcp' }],
      },
      { env: { PORT: '8080', A: 'x' } },
    ))
  test('a variable that is not set is an empty text, and said', () => {
    const file = web('environment: { A: "${GONE}!" }')
    expect(file.web.environment).toEqual({ A: '!' })
    expect(file.warnings).toEqual([
      { path: 'services.web.environment.A', message: 'the variable GONE is not set; an empty text takes its place' },
    ])
  })
  test('a field that has no effect here, and one that nobody knows, are said', () => {
    const file = web('logging: { driver: none }\nunheard_of: 1')
    expect(file.warnings).toEqual([
      { path: 'services.web.logging', message: 'is ignored: logs are kept by this product' },
      { path: 'services.web.unheard_of', message: expect.stringMatching(/./) },
    ])
  })
  test('a variable that the file demands is named', () => {
    const file = web('environment: { A: "${KEY:?set the key}" }')
    expect(file.missing).toEqual([{ path: 'services.web.environment.A', variable: 'KEY', message: 'set the key' }])
    expect(file.refused).toEqual([])
  })
  test('anchors and merge keys, the own value first', () => {
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
  test('extension fields are ignored, but a label may look like one', () =>
    gives('x-anything: { privileged: true, a: $GONE }\nlabels: { x-tier: front }', { labels: { 'x-tier': 'front' } }))
  test('a service extends another of the file', () => {
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
  test('a circle of services that extend one another is refused', () => {
    const file = read('services:\n  a: { image: x, extends: b }\n  b: { image: x, extends: a }')
    expect(file.refused).toEqual([{ path: 'services.b.extends', message: 'the service extends itself: a → b → a' }])
  })
  test('another file of the project is not followed, and said', () => {
    const file = web('extends: { file: common.yml, service: base }', {}, 'include: [./other.yml]')
    expect(file.warnings).toEqual([
      { path: 'include.0', message: 'what "./other.yml" says is not followed' },
      { path: 'services.web.extends', message: 'what "common.yml" says is not followed; write the service out' },
    ])
  })
})

describe('what is not understood is a warning that names its path', () => {
  test.each([
    ['future_field: 1', 'services.web.future_field'],
    ['constructor: 1', 'services.web.constructor'],
    ['ulimits: { rtprio: 99 }', 'services.web.ulimits.rtprio'],
    ['logging: { driver: syslog }', 'services.web.logging'],
    ['container_name: mine', 'services.web.container_name'],
    ['extra_hosts: ["a:host-gateway"]', 'services.web.extra_hosts.0'],
    ['dns: 1.1.1.1', 'services.web.dns'],
    ['platform: linux/amd64', 'services.web.platform'],
    ['tty: true', 'services.web.tty'],
    ['group_add: [docker]', 'services.web.group_add'],
    ['runtime: nvidia', 'services.web.runtime'],
    ['build: { context: ., cache_from: [x] }', 'services.web.build.cache_from'],
    ['build: { context: ., network: none }', 'services.web.build.network'],
    ['healthcheck: { test: [CURL, x] }', 'services.web.healthcheck.test'],
    ['healthcheck: { interval: soon }', 'services.web.healthcheck.interval'],
    ['deploy: { placement: {} }', 'services.web.deploy.placement'],
    ['deploy: { mode: global }', 'services.web.deploy.mode'],
    ['deploy: { resources: { reservations: { memory: 1g } } }', 'services.web.deploy.resources.reservations.memory'],
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
    ['volumes_from: [other]', 'services.web.volumes_from.0'],
    ['network_mode: none', 'services.web.network_mode'],
    ['network_mode: "service:vpn"', 'services.web.network_mode'],
    ['ipc: shareable', 'services.web.ipc'],
    ['post_start: [{ command: ls }]', 'services.web.post_start'],
    ['security_opt: ["label:type:svirt_t"]', 'services.web.security_opt.0'],
  ])('%s', (fields, path) => {
    const file = web(fields)
    expect(file.warnings.map((one) => one.path)).toEqual([path])
    expect(file.refused).toEqual([])
  })
  test('at the top of the file', () => {
    const file = read(
      'services: { a: { image: x } }\nmodels: {}\nnetworks: { n: { ipam: {} }, o: { external: true, name: proxy } }\nvolumes: { v: { driver: nfs }, w: { external: true }, t: { driver_opts: { type: tmpfs, device: tmpfs } } }',
    )
    expect(file.warnings.map((one) => one.path)).toEqual([
      'models',
      'volumes.v.driver',
      'volumes.w.external',
      'volumes.t.driver_opts',
      'networks.n.ipam',
      'networks.o.external',
    ])
    expect(file.volumes[1]).toEqual({ name: 'w', hostName: null, external: true, labels: {} })
    expect(file.networks[1]).toEqual({ name: 'o', hostName: 'proxy', external: true, internal: false })
    expect(file.refused).toEqual([])
  })
})

test('a tag of override files is warned of, and the word behind it is no command', () => {
  const { web: service, warnings } = web('command: !reset null')
  expect(service.command).toBeNull()
  expect(warnings.map(({ message }) => message)).toEqual([expect.stringContaining('!reset')])
})
