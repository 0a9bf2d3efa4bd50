import { Service } from '@berth/contract'
import { Value } from 'typebox/value'
import { expect, test } from 'vitest'
import { toProjectServices } from './project-services.ts'
import { readCompose } from './read-compose.ts'

const read = (text: string) => toProjectServices(readCompose(text, { folder: '/srv/shop' }))

test('services of a file are what the create body takes', () => {
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
  expect(warnings).toEqual([])
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

test('what is out of the bounds is brought inside and said', () => {
  const { services, warnings } = read('services: { a: { image: x, cpus: 16, mem_limit: 4m, command: "echo \'" } }')
  expect(services[0]).toMatchObject({ cpuCores: 4, memoryMb: 16, command: null })
  expect(warnings).toEqual([
    { path: 'services.a.command', message: 'a quote is not closed; it is left out' },
    { path: 'services.a.cpus', message: '16 is out of bounds; 4 is used' },
    { path: 'services.a.mem_limit', message: '4 is out of bounds; 16 is used' },
  ])
  expect(Value.Check(Service, services[0])).toBe(true)
})

test('a service with a profile is left out, and nothing waits for it; what is not followed is said', () => {
  const text = `
services:
  web: { build: { context: ./web, dockerfile: prod.Dockerfile }, ports: ["80"], depends_on: [debug, db], deploy: { replicas: 3 } }
  debug: { image: debug, profiles: [dev], ports: ["90"] }
  db: { image: db, tmpfs: [/run] }
`
  const { services, warnings } = toProjectServices(readCompose(text, { folder: '/project' }))
  expect(services.map(({ name, dependsOn }) => [name, dependsOn])).toEqual([
    ['web', ['db']],
    ['db', []],
  ])
  // As Compose writes it: from the build's context on.
  expect(services[0]?.build).toMatchObject({ context: 'web', dockerfile: 'prod.Dockerfile' })
  expect(warnings.map(({ path }) => path)).toEqual([
    'services.web.deploy.replicas',
    'services.db.tmpfs',
    'services.debug.profiles',
  ])
})
