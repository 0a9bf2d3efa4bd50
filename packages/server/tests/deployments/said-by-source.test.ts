import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { siteRulesFile } from '../../src/platform/site-rules/site-rules.ts'
import { type Scene, setScene } from './scene.ts'

/** Settings in the files of a project reach the component that applies them. */
let scene: Scene
beforeAll(async () => {
  scene = await setScene()
})
afterAll(() => scene?.end())

const app = { 'package.json': JSON.stringify({ scripts: { start: 'node server.js' } }), 'server.js': '' }
const onFly = { 'fly.toml': '[http_service]\n[[http_service.checks]]\npath = "/healthz"\n' }

test('its health path is requested, unless the settings have one', async () => {
  const { failingPaths } = scene.instance.drivers.runtime
  failingPaths.add('/healthz')
  try {
    const ill = await scene.deployFiles('ill', { ...app, ...onFly }, { healthCheck: { timeoutSeconds: 1 } })
    expect(ill.error).toMatchObject({ code: 'unhealthy', message: expect.stringContaining('GET /healthz') })
    const chosen = await scene.deployFiles('chosen', { ...app, ...onFly }, { healthCheck: { path: '/up', timeoutSeconds: 1 } })
    expect(chosen).toMatchObject({ status: 'live', error: null })
  } finally {
    failingPaths.delete('/healthz')
  }
})

test('its redirects and headers are written beside the static files for the edge', async () => {
  const { runtime } = scene.instance.drivers
  const site = join(dirname(scene.source), 'built', 'site')
  mkdirSync(site, { recursive: true })
  writeFileSync(join(site, '_headers'), '/*\n  X-From: the build\n')
  const build = runtime.build.bind(runtime)
  const builds = vi.spyOn(runtime, 'build').mockImplementation(async (...args) => ({
    ...(await build(...args)),
    kind: 'static' as const,
    reference: site,
  }))
  try {
    const { status } = await scene.deployFiles('site', {
      'index.html': '<h1>here</h1>',
      'vercel.json': JSON.stringify({ redirects: [{ source: '/old', destination: '/new' }] }),
    })
    expect(status).toBe('live')
  } finally {
    builds.mockRestore()
  }
  const rules = JSON.parse(readFileSync(join(dirname(site), siteRulesFile), 'utf8'))
  expect(rules).toMatchObject({ redirects: [{ from: ['=old'], to: '/new' }], headers: [{ values: [['X-From', 'the build']] }] })
})

test('container settings and network aliases of a Compose service are passed to the runtime', async () => {
  const { runtime } = scene.instance.drivers
  Object.assign(runtime, { kind: 'docker' })
  try {
    const { status } = await scene.deployFiles(
      'shop',
      {
        'compose.yaml': `
services:
  web:
    build: .
    ports: ['80:3000']
    user: '1234'
    read_only: true
    networks: { default: { aliases: [shop-front] } }
`,
        Dockerfile: 'FROM scratch',
      },
      { type: 'services' },
    )
    expect(status).toBe('live')
    const { request } = [...runtime.running.values()].find(({ instance }) => instance.service === 'web')!
    expect(request.container).toMatchObject({ user: '1234', readOnly: true })
    expect(request.network?.parts).toEqual([{ name: 'default', internal: false, aliases: ['web', 'shop-front'], services: 1 }])
  } finally {
    Object.assign(runtime, { kind: 'process' })
  }
})
