// gate: also on PostgreSQL, since it runs SQL that no other file of the gate runs
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { Instance } from '../../src/drivers/runtime/runtime.ts'
import { call } from '../kit/call.ts'
import { type Scene, setScene } from './scene.ts'

/** A failed deployment says what to do next. The in-memory runtime is one without containers. */
let scene: Scene
beforeAll(async () => {
  scene = await setScene()
})
afterAll(() => scene.end())

const app = { 'package.json': JSON.stringify({ scripts: { start: 'node server.js' } }), 'server.js': '' }

test('a Dockerfile without Docker: the program to install, or the setting to use instead', async () => {
  const { error } = await scene.deployFiles('dockerfile', { Dockerfile: 'FROM scratch\nCMD ["/serve"]\n' })
  expect(error).toMatchObject({ code: 'plan_failed' })
  for (const text of ['Dockerfile', 'Install Docker', 'serverId', 'startCommand']) expect(error?.message).toContain(text)
})

test('a Dockerfile that the settings name: the same message, before anything is built', async () => {
  const { error, steps } = await scene.deployFiles(
    'asked-for',
    { ...app, 'Dockerfile.prod': 'FROM scratch\n' },
    { dockerfilePath: 'Dockerfile.prod' },
  )
  expect(error).toMatchObject({ code: 'plan_failed', message: expect.stringContaining('Install Docker') })
  expect(steps.map(({ name }) => name)).not.toContain('build')
})

test('several services without Docker: the program to install', async () => {
  const { error } = await scene.deployFiles('compose', {
    'compose.yaml': 'services: { web: { image: web, ports: ["80"] }, db: { image: db } }\n',
  })
  expect(error).toMatchObject({ code: 'plan_failed', message: expect.stringMatching(/several services.*Install Docker/) })
})

test('a root directory that does not exist: the setting and the existing folders', async () => {
  const { error } = await scene.deployFiles('rootless', app, { rootDirectory: 'apps/web' })
  expect(error).toMatchObject({ code: 'plan_failed', message: expect.stringMatching(/no folder "apps\/web".*rootDirectory/) })
})

test('a slow start: the setting that extends the time limit', async () => {
  scene.instance.drivers.runtime.isListening = false
  try {
    const { error } = await scene.deployFiles('slow', app, { healthCheck: { timeoutSeconds: 1 } })
    expect(error).toMatchObject({ code: 'unhealthy', message: expect.stringContaining('healthCheck.timeoutSeconds') })
  } finally {
    scene.instance.drivers.runtime.isListening = true
  }
})

/** Makes the next started instance look like this, with these log lines. */
function startsAs(seen: Partial<Instance>, ...lines: string[]) {
  const { runtime } = scene.instance.drivers
  const start = runtime.start.bind(runtime)
  return vi.spyOn(runtime, 'start').mockImplementation(async (request) => {
    const instance = await start(request)
    const kept = runtime.running.get(request.instanceId)!
    for (const message of lines) kept.output.push({ time: new Date().toISOString(), stream: 'stderr', message })
    kept.instance = { ...instance, ...seen }
    return kept.instance
  })
}

test('a program that listens on another port: the requested port and the actual one', async () => {
  scene.instance.drivers.runtime.isListening = false
  const starts = startsAs({ listensOn: ['127.0.0.1:9229'] })
  try {
    const { error } = await scene.deployFiles('elsewhere', app, { healthCheck: { timeoutSeconds: 1 } })
    expect(error?.message).toMatch(/GET \/ on port \d+: .*It listens on 127\.0\.0\.1:9229: .*PORT/)
  } finally {
    starts.mockRestore()
    scene.instance.drivers.runtime.isListening = true
  }
})

test('a start without a required tool: the tool and the remedy', async () => {
  const starts = startsAs({ state: 'exited', exitCode: 127, address: null }, 'sh: 1: bundle: not found')
  try {
    const { error } = await scene.deployFiles('toolless', app)
    expect(error).toMatchObject({
      code: 'crashed',
      message: expect.stringMatching(/needs Ruby with Bundler.*Install it, or use Docker/),
    })
  } finally {
    starts.mockRestore()
  }
})

test('a warning is reported once', async () => {
  const deployment = await scene.deployFiles('warned', {
    ...app,
    'vercel.json': JSON.stringify({ crons: [{ path: '/a', schedule: '* * * * *' }] }),
  })
  const { body } = await call(scene.instance, scene.people.member.token, 'GET /deployments/:id/logs', {
    params: { id: deployment.id },
  })
  expect(body.data.filter(({ message }: { message: string }) => message.includes('cron'))).toHaveLength(1)
})
