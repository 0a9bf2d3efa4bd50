import { Service } from '@berth/contract'
import { Value } from 'typebox/value'
import { expect, test } from 'vitest'
import { toProjectServices } from './project-services.ts'
import { readCompose } from './read-compose.ts'

const read = (text: string, profiles?: string[]) => toProjectServices(readCompose(text, { folder: '/srv/shop' }), profiles)

test('the services of a file are valid for the create body', () => {
  const { services, warnings } = read(`
services:
  db: { image: "postgres:16", ports: ["5432:5432"], volumes: ["data:/var/lib/postgresql/data"], healthcheck: { test: pg_isready } }
  web:
    build: { context: ./web, args: { A: "1" } }
    command: npm run "start it"
    entrypoint: [sh]
    environment: { A: b }
    ports: ["8080:3000", "3000:3000/udp", "9000:3000"]
    expose: [9229]
    depends_on: { db: { condition: service_healthy } }
    restart: on-failure:3
    cpus: 0.5
    mem_limit: 256m
    labels: { tier: front }
volumes: { data: }`)
  expect(services.every((service) => Value.Check(Service, service))).toBe(true)
  expect(warnings.map(({ path, message }) => `${path}: ${message}`)).toEqual([
    'services.db.ports: 5432/tcp is not published on the machine; services reach it by name',
    'services.web.ports: 3000/udp is not published on the machine; services reach it by name',
  ])
  expect(services[1]).toEqual({
    name: 'web',
    image: null,
    build: { context: 'web', dockerfile: null, target: null, args: { A: '1' } },
    command: ['npm', 'run', 'start it'],
    entrypoint: ['sh'],
    environment: { A: 'b' },
    ports: [3000, 9229],
    exposed: true,
    volumes: [],
    dependsOn: ['db'],
    healthcheck: null,
    restart: 'on-failure:3',
    cpuCores: 0.5,
    memoryMb: 256,
    labels: { tier: 'front' },
  })
  expect(services[0]).toMatchObject({
    exposed: false,
    ports: [5432],
    healthcheck: { test: { kind: 'shell', line: 'pg_isready' } },
  })
})

test('published services have a host name; databases and services for the machine only have none', () => {
  const { services } = read(`
services:
  web: { image: nginx, ports: ["80:80"] }
  admin: { image: admin, ports: ["8081:80"] }
  debug: { image: debug, ports: ["127.0.0.1:9229:9229"] }
  inner: { image: inner, expose: [3000] }
  games: { image: games, ports: ["27015:27015/udp"] }
  db: { image: "postgres:16", ports: ["5432:5432"] }`)
  expect(services.flatMap(({ name, route }) => (route ? [name] : []))).toEqual(['admin'])
})

test('values out of range are refused', () => {
  const { refused } = read('services: { a: { image: x, cpus: 16, mem_limit: 4m, command: "echo \'" } }')
  expect(refused).toEqual([
    { path: 'services.a.command', message: 'a quote is not closed' },
    { path: 'services.a.cpus', message: '16 is out of bounds: 0.1 to 4' },
    { path: 'services.a.mem_limit', message: '4 is out of bounds: 16 to 65536' },
  ])
})

test('a service with a profile is included if the setting names one of its profiles', () => {
  const text = `
services:
  web: { build: { context: ./web, dockerfile: prod.Dockerfile }, ports: ["80"], depends_on: { debug: { condition: service_started, required: false }, db: { condition: service_started } }, deploy: { replicas: 3 } }
  debug: { image: debug, profiles: [dev], ports: ["90"] }
  db: { image: db, tmpfs: [/run] }
`
  const { services, warnings, refused } = read(text)
  expect(services.map(({ name, dependsOn }) => [name, dependsOn])).toEqual([
    ['web', ['db']],
    ['db', []],
  ])
  // Relative to the build context, as in Compose.
  expect(services[0]?.build).toMatchObject({ context: 'web', dockerfile: 'prod.Dockerfile' })
  expect(services[0]?.replicas).toBe(3)
  expect(refused).toEqual([])
  expect(warnings.map(({ path }) => path)).toEqual(['services.debug.profiles'])
  for (const profiles of [['dev'], ['*'], ['other', 'dev']])
    expect(read(text, profiles).services.map(({ name, dependsOn }) => [name, dependsOn])).toEqual([
      ['web', ['debug', 'db']],
      ['debug', []],
      ['db', []],
    ])
  expect(read(text, ['other']).warnings).toContainEqual({ path: '', message: expect.stringContaining('"other"') })
  const needed = 'services: { web: { image: x, depends_on: [debug] }, debug: { image: y, profiles: [dev] } }'
  expect(read(needed).refused).toEqual([
    { path: 'services.web.depends_on', message: expect.stringMatching(/"debug" does not run: set composeProfiles.*dev/) },
  ])
  expect(read(needed, ['dev']).refused).toEqual([])
})

test('networks are included by name with their aliases; internal ones are marked', () => {
  const { services } = read(`
services:
  plain: { image: a }
  db: { image: b, container_name: my_db, networks: { back: { aliases: [store] } } }
  web: { image: c, networks: [back, front], links: ["db:sql"] }
  job: { image: d, network_mode: none }
networks: { back: { internal: true }, front: }`)
  expect(services.map(({ container }) => container)).toEqual([
    undefined,
    { aliases: ['my_db'], networks: [{ name: 'back', aliases: ['store', 'sql'], internal: true }] },
    { networks: [{ name: 'back', internal: true }, { name: 'front' }] },
    { networks: [] },
  ])
  expect(services.every((service) => Value.Check(Service, service))).toBe(true)
})

test.each([
  ['scale: 0', [], { leftOut: ['b'] }],
  ['scale: 21', ['services.b.scale'], {}],
  ['deploy: { replicas: 2 }, container_name: one', ['services.b.container_name'], {}],
  ['stop_grace_period: 10m', ['services.b.stop_grace_period'], {}],
  ['pids_limit: 5000', ['services.b.pids_limit'], {}],
  ['network_mode: none, networks: [default]', ['services.b.network_mode'], {}],
])('%s', (fields, paths, expected) => {
  const made = read(`services: { a: { image: a }, b: { image: b, ${fields} } }`)
  expect(made.refused.map(({ path }) => path)).toEqual(paths)
  expect(made).toMatchObject(expected)
})

test('a volume without a name is named after the service and path', () => {
  const { services } = read('services: { web: { image: b, volumes: [/app/data] } }')
  expect(services[0]?.volumes).toMatchObject([{ type: 'volume', source: 'web-app-data', target: '/app/data' }])
})

test('container settings are included, and invalid values are refused', () => {
  const { services, refused } = read(`
services:
  web:
    image: web
    user: "1000:1000"
    read_only: true
    working_dir: /srv
    hostname: front
    shm_size: 128m
    stop_grace_period: 1m30s
    stop_signal: SIGINT
    pids_limit: 50
    cap_drop: [CAP_NET_RAW]
    tmpfs: [/run, "/tmp:size=16m"]
    networks: { default: { aliases: [www] } }
    extra_hosts: ["db.internal:10.0.0.5", "six=fd00::1"]
    ulimits: { nofile: { soft: 1024, hard: 2048 }, core: 0 }
    sysctls: { net.core.somaxconn: 1024 }
  odd: { image: odd, user: "a b", hostname: "-x" }`)
  expect(services.every((service) => Value.Check(Service, service))).toBe(true)
  expect(services[0]?.container).toEqual({
    user: '1000:1000',
    readOnly: true,
    workingDir: '/srv',
    hostname: 'front',
    shmMb: 128,
    stopGraceSeconds: 90,
    stopSignal: 'SIGINT',
    pidsLimit: 50,
    capDrop: ['NET_RAW'],
    tmpfs: [
      { target: '/run', sizeMb: null },
      { target: '/tmp', sizeMb: 16 },
    ],
    networks: [{ name: 'default', aliases: ['www'] }],
    extraHosts: [
      { name: 'db.internal', address: '10.0.0.5' },
      { name: 'six', address: 'fd00::1' },
    ],
    ulimits: [
      { name: 'nofile', soft: 1024, hard: 2048 },
      { name: 'core', soft: 0, hard: 0 },
    ],
    sysctls: { 'net.core.somaxconn': '1024' },
  })
  expect(services[1]).not.toHaveProperty('container')
  expect(refused.map(({ path }) => path)).toEqual(['services.odd.user', 'services.odd.hostname'])
})

test.each<[string, string, string]>([
  [
    'what publishes 80 stands before what is built',
    'web',
    'api: { build: ., ports: ["3000:3000"] }\n  web: { image: nginx, ports: ["80:80"] }',
  ],
  [
    'a service that no other depends on',
    'front',
    'back: { build: ., ports: ["8000:8000"] }\n  front: { build: ./f, ports: ["3000:3000"], depends_on: [back] }',
  ],
  ['never a database', 'app', 'db: { image: "postgres:16", ports: ["5432:5432"] }\n  app: { build: ., ports: ["8000:8000"] }'],
  [
    'a proxy before what it needs',
    'proxy',
    'app: { build: ., expose: [8000] }\n  proxy: { image: caddy, ports: ["8080:80"], depends_on: [app] }',
  ],
  [
    'what has the web’s port inside, whatever it is called outside',
    'front',
    'back: { build: ., ports: ["8080:8080"] }\n  front: { image: nginx, ports: ["8090:80"] }',
  ],
  [
    'the app before what shows its database, though that has the web’s port inside',
    'app',
    'admin: { image: phpmyadmin/phpmyadmin, ports: ["8081:80"] }\n  app: { build: ., ports: ["3000:3000"] }',
  ],
  [
    'an app that is only run before what catches its mail',
    'app',
    'mail: { image: "axllent/mailpit:v1", ports: ["8025:8025"] }\n  app: { image: example/app, ports: ["3000:3000"] }',
  ],
  ['what shows a database where there is nothing else', 'admin', 'admin: { image: "dpage/pgadmin4:9", ports: ["5050:80"] }'],
  [
    'what only a service that is left out depends on',
    'vote',
    'vote: { build: ./v, ports: ["8080:80"] }\n  result: { build: ./r, ports: ["8081:80"] }\n  seed: { build: ./s, depends_on: [vote], profiles: [seed] }',
  ],
  ['without published ports what is exposed', 'app', 'db: { image: redis, expose: [6379] }\n  app: { build: ., expose: [8000] }'],
])('requests go to %s', (_, name, text) => {
  expect(
    read(`services:\n  ${text}`)
      .services.filter(({ exposed }) => exposed)
      .map((one) => one.name),
  ).toEqual([name])
})

test('requests go to the web port of several ports, and to non-HTTP ports last', () => {
  const ports = (list: string) => read(`services:\n  a: { image: x, ports: [${list}] }`).services[0]?.ports
  expect(ports('"53:53/tcp", "443:443", "80:80"')).toEqual([80, 53, 443])
  expect(ports('"2222:22", "3000:3000"')).toEqual([3000, 22])
  expect(ports('"9000:9000", "8000:8000"')).toEqual([9000, 8000])
})

test('requests never go to a database, even if no other service has a port', () => {
  const { services } = read('services:\n  db: { image: "docker.io/library/mysql:8", ports: ["3306:3306"] }\n  job: { build: . }')
  expect(services.some(({ exposed }) => exposed)).toBe(false)
})

test.each([
  ['80', '80:8080'],
  ['443', '443:8443'],
])('requests go to the service published at %s, before services built from source', (_, port) => {
  const { services } = read(`
services:
  api: { build: ., ports: ["3000:3000"] }
  proxy: { image: example/proxy, ports: ["${port}"] }`)
  expect(services.filter(({ exposed }) => exposed).map(({ name }) => name)).toEqual(['proxy'])
})
