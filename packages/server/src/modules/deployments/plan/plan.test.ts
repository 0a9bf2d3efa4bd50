import type { Service } from '@berth/contract'
import { describe, expect, test } from 'vitest'
import type { Detection } from '../../../source/detection/index.ts'
import { copyLine } from '../build/add-files.ts'
import type { DeployedConfig } from './deployed.ts'
import { planDeployment } from './plan.ts'
import { PlanRefused } from './plan-refused.ts'
import { routeWarnings } from './service-routes.ts'

const limits = { cpuCores: 1, memoryMb: 512, diskMb: 2000 }
const config = (changes: Partial<DeployedConfig> = {}): DeployedConfig => ({
  type: 'app',
  framework: null,
  packageManager: null,
  installCommand: null,
  buildCommand: null,
  startCommand: null,
  outputDirectory: null,
  rootDirectory: null,
  dockerfilePath: null,
  composePath: null,
  buildImage: null,
  port: 3000,
  healthCheck: null,
  volumes: [],
  services: [],
  resources: { production: limits, build: limits },
  ...changes,
})
const detected = (changes: Partial<Detection> = {}): Detection => ({
  name: 'app',
  framework: null,
  language: 'javascript',
  packageManager: 'npm',
  installCommand: 'npm ci',
  buildCommand: null,
  startCommand: 'npm start',
  outputDirectory: null,
  port: null,
  type: 'app',
  services: [],
  apps: [],
  runtimeVersion: {},
  evidence: [],
  warnings: [],
  refused: [],
  ...changes,
})
const ofServices = (...services: Service[]) => planDeployment(config({ type: 'services', services }), null).units
const names = (units: { service: string }[]) => units.map(({ service }) => service)

describe('an app', () => {
  test('settings override detection; unset ones come from detection', () => {
    const [unit] = planDeployment(config({ buildCommand: 'make' }), detected({ buildCommand: 'npm run build' })).units
    expect(unit?.build).toMatchObject({ installCommand: 'npm ci', buildCommand: 'make', startCommand: 'npm start' })
  })

  test('is exposed at its port; a worker is not, and has none', () => {
    expect(planDeployment(config({ port: 8080 }), detected()).units).toMatchObject([{ exposed: true, port: 8080 }])
    expect(planDeployment(config({ type: 'worker' }), detected()).units).toMatchObject([{ exposed: false, port: null }])
  })

  test('has the detected port, unless the user set a port', () => {
    const portFrom = (changes: Partial<DeployedConfig>, found: Partial<Detection>) =>
      planDeployment(config(changes), detected(found)).units[0]?.port
    expect(portFrom({ portChosen: false }, { port: 8000 })).toBe(8000)
    expect(portFrom({ portChosen: false }, { port: null })).toBe(3000)
    expect(portFrom({ portChosen: true }, { port: 8000 })).toBe(3000)
    expect(portFrom({ portChosen: false }, { framework: 'dockerfile', port: 9000 })).toBe(9000)
    expect(portFrom({ portChosen: false, dockerfilePath: 'ops/Dockerfile' }, { framework: 'express', port: 9000 })).toBe(3000)
  })

  test('is checked at the health path of its source', () => {
    expect(planDeployment(config(), detected({ healthPath: '/up' })).units).toMatchObject([{ healthPath: '/up' }])
    expect(planDeployment(config(), detected()).units[0]).not.toHaveProperty('healthPath')
  })

  test('of a monorepo with one app is built in the folder of that app, unless the settings name another', () => {
    const only = detected({ rootDirectory: 'apps/web' })
    expect(planDeployment(config(), only).units[0]?.build?.rootDirectory).toBe('apps/web')
    expect(planDeployment(config({ rootDirectory: 'apps/api' }), only).units[0]?.build?.rootDirectory).toBe('apps/api')
  })

  test('has the detected type, unless a start command makes it an app', () => {
    const site = detected({ type: 'static', startCommand: null, outputDirectory: 'dist' })
    expect(planDeployment(config(), site)).toMatchObject({ type: 'static', units: [{ build: { kind: 'static' } }] })
    expect(planDeployment(config({ startCommand: 'serve' }), site)).toMatchObject({ type: 'app' })
  })

  test('without a start command or a source is refused with a message', () => {
    expect(() => planDeployment(config(), detected({ startCommand: null }))).toThrow('No start command was found')
    const apps = ['web', 'api'].map((path) => ({ name: path, path, framework: null }))
    expect(() => planDeployment(config(), detected({ startCommand: null, apps }))).toThrow('one of them: web, api')
    expect(() => planDeployment(config(), null)).toThrow('The project has no source')
  })

  test('uses its own Dockerfile if it has one and no start command was set', () => {
    const own = detected({ framework: 'dockerfile', startCommand: null })
    expect(planDeployment(config(), own).units[0]?.build).toMatchObject({ kind: 'dockerfile', dockerfilePath: 'Dockerfile' })
    expect(planDeployment(config({ startCommand: 'node x.js' }), own).units[0]?.build).toMatchObject({ kind: 'stack' })
    expect(planDeployment(config({ dockerfilePath: 'ops/Dockerfile' }), detected()).units[0]?.build).toMatchObject({
      kind: 'dockerfile',
      dockerfilePath: 'ops/Dockerfile',
    })
  })
})

describe('services', () => {
  test('dependencies start first', () => {
    const units = ofServices(
      { name: 'web', image: 'w', dependsOn: ['api'] },
      { name: 'api', image: 'a', dependsOn: ['db', 'cache'] },
      { name: 'db', image: 'd' },
      { name: 'cache', image: 'c' },
    )
    expect(names(units)).toEqual(['db', 'cache', 'api', 'web'])
  })

  test('a dependency cycle is refused and named', () => {
    const circle = () => ofServices({ name: 'a', image: 'a', dependsOn: ['b'] }, { name: 'b', image: 'b', dependsOn: ['a'] })
    expect(circle).toThrow(PlanRefused)
    expect(circle).toThrow('a → b → a')
  })

  test('requests go to exactly one service: the marked one, else the first with a port', () => {
    const exposed = (units: { service: string; exposed: boolean }[]) => names(units.filter((unit) => unit.exposed))
    expect(
      exposed(ofServices({ name: 'a', image: 'a', ports: [1] }, { name: 'b', image: 'b', ports: [2], exposed: true })),
    ).toEqual(['b'])
    expect(
      exposed(
        ofServices({ name: 'a', image: 'a' }, { name: 'b', image: 'b', ports: [2] }, { name: 'c', image: 'c', ports: [3] }),
      ),
    ).toEqual(['b'])
  })

  test('each service has its own environment, command, limits and volumes, and defaults to those of the project', () => {
    const [unit] = ofServices({
      name: 'db',
      image: 'db:17',
      environment: { A: 'b' },
      command: ['run', 'it'],
      memoryMb: 64,
      restart: 'no',
      volumes: [
        { type: 'volume', source: 'data', target: '/data' },
        { type: 'tmpfs', target: '/tmp' },
      ],
    })
    expect(unit).toMatchObject({
      image: 'db:17',
      environment: { A: 'b' },
      command: ['run', 'it'],
      allotment: { cpuCores: 1, memoryMb: 64 },
      restart: false,
      volumes: [{ name: 'data', mountPath: '/data', readOnly: false }],
    })
  })

  test('further services get host names of their own if the file or the settings ask for it', () => {
    const services = [
      { name: 'web', image: 'w', ports: [80], exposed: true },
      { name: 'Admin_Panel', image: 'a', ports: [81], route: true },
      { name: 'admin.panel', image: 'b', ports: [82], route: true },
      { name: 'inner', image: 'i', ports: [83] },
      { name: 'worker', image: 'k', route: true },
      { name: 'db', image: 'postgres', ports: [5432] },
    ]
    const routes = (serviceRoutes: Record<string, boolean> | null) =>
      planDeployment(config({ type: 'services', services, serviceRoutes }), null).units.flatMap(({ service, route }) =>
        route ? [[service, route]] : [],
      )
    expect(routes(null)).toEqual([['Admin_Panel', 'admin-panel']])
    expect(routes({ Admin_Panel: false, db: true, web: true })).toEqual([
      ['admin.panel', 'admin-panel'],
      ['db', 'db'],
    ])
    const chosen = { worker: true, gone: true, 'admin.panel': true, inner: false }
    const { units } = planDeployment(config({ type: 'services', services, serviceRoutes: chosen }), null)
    expect(routeWarnings(chosen, units)).toEqual([
      expect.stringContaining('worker has no port'),
      expect.stringContaining('service gone does not exist'),
      expect.stringContaining('the host name of admin.panel is already used'),
    ])
    const nameless = ofServices(services[0]!, { name: '__', image: 'x', ports: [80] })
    expect(routeWarnings({ __: true }, nameless)).toEqual([expect.stringContaining('__ has no letter or digit')])
  })

  test('a build context is relative to the root directory, its Dockerfile relative to the context', () => {
    const services = [{ name: 'api', build: { context: './api', dockerfile: 'prod.Dockerfile', target: 'run' } }]
    const { units } = planDeployment(config({ type: 'services', services, rootDirectory: 'shop' }), null)
    expect(units[0]?.build).toMatchObject({
      kind: 'dockerfile',
      rootDirectory: 'shop/api',
      dockerfilePath: 'prod.Dockerfile',
      dockerTarget: 'run',
    })
  })

  test.each([
    ['.', 'shop'],
    ['./', 'shop'],
    ['./.docker/php', 'shop/.docker/php'],
    ['.docker', 'shop/.docker'],
  ])('the build context %s is the folder %s', (context, rootDirectory) => {
    const services = [{ name: 'api', build: { context } }]
    const { units } = planDeployment(config({ type: 'services', services, rootDirectory: 'shop' }), null)
    expect(units[0]?.build?.rootDirectory).toBe(rootDirectory)
  })

  test('a bind mount of a Compose file is a file of the project, relative to its root directory', () => {
    const volumes = [
      { type: 'bind' as const, source: 'conf/nginx.conf', target: '/etc/nginx/nginx.conf', readOnly: true },
      { type: 'volume' as const, source: 'data', target: '/data' },
    ]
    const { units } = planDeployment(
      config({ type: 'services', rootDirectory: 'shop', services: [{ name: 'web', image: 'w', volumes }] }),
      null,
    )
    expect(units[0]?.files).toEqual([{ from: 'shop/conf/nginx.conf', to: '/etc/nginx/nginx.conf', readOnly: true }])
    expect(copyLine({ from: 'a b/x', to: '/y' }, false)).toBe('COPY ["./a b/x","/y"]')
    expect(copyLine({ from: 'conf', to: '/etc/web' }, true)).toBe('COPY ["./conf/","/etc/web/"]')
  })

  test('a Compose file that uses resources outside the project is refused, unless the services come from the settings', () => {
    const found = detected({
      type: 'services',
      services: [{ name: 'a', image: 'a' }],
      refused: ['compose.yaml: it is privileged'],
    })
    expect(() => planDeployment(config({ type: 'services' }), found)).toThrow('compose.yaml: it is privileged')
    const services = [{ name: 'b', image: 'b' }]
    expect(names(planDeployment(config({ type: 'services', services }), found).units)).toEqual(['b'])
  })

  test.each<[string, Service[]]>([
    ['101 services', Array.from({ length: 101 }, (_, index) => ({ name: `s${index}`, image: 'a' }))],
    [
      '21 networks',
      [{ name: 'a', image: 'a', container: { networks: Array.from({ length: 21 }, (_, i) => ({ name: `n${i}` })) } }],
    ],
    ['220 containers', Array.from({ length: 11 }, (_, index) => ({ name: `s${index}`, image: 'a', replicas: 20 }))],
  ])('more services, replicas or volumes than the maximum are refused: %s', (count, services) => {
    expect(() => ofServices(...services)).toThrow(`The project has ${count}, but the maximum is`)
    expect(() => planDeployment(config({ type: 'services' }), detected({ type: 'services', services }))).toThrow(count)
  })

  test('a project without services is refused', () => {
    expect(() => planDeployment(config({ type: 'services' }), detected())).toThrow('The project has no services')
  })
})

test('redirects and headers apply to a static site only', () => {
  const siteRules = { redirects: [], headers: [{ from: ['*all'], headers: { 'x-frame-options': 'DENY' } }] } as never
  const pages = detected({ type: 'static', startCommand: null, outputDirectory: 'dist', siteRules })
  expect(planDeployment(config({ type: 'static' }), pages)).toMatchObject({ siteRules })
  expect(planDeployment(config(), detected({ siteRules }))).not.toHaveProperty('siteRules')
})

test('container settings of the Compose file are in the plan', () => {
  const container = { user: '1000:1000', readOnly: true }
  expect(ofServices({ name: 'web', image: 'example/web', ports: [80], container })).toMatchObject([{ container }])
})
