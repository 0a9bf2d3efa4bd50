import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Scene, setScene } from './scene.ts'

/** `composePath` and `dockerfilePath` decide which file is deployed, and a file that cannot be used fails the deployment. */
let scene: Scene
beforeAll(async () => {
  scene = await setScene()
  Object.assign(scene.instance.drivers.runtime, { kind: 'docker' })
})
afterAll(() => scene?.end())

const beside = { Dockerfile: 'FROM scratch\nEXPOSE 80\n' }

test('composePath names the file that is deployed', async () => {
  const files = {
    ...beside,
    'ops/compose.yaml': 'services: { front: { build: ../web, ports: ["80:3000"] }, store: { build: ../web } }',
    'web/Dockerfile': 'FROM scratch\n',
  }
  const { status, error } = await scene.deployFiles('named', files, { composePath: 'ops/compose.yaml' })
  expect(error).toBeNull()
  expect(status).toBe('live')
  const services = [...scene.instance.drivers.runtime.running.values()].map(({ instance }) => instance.service)
  expect(services).toEqual(expect.arrayContaining(['front', 'store']))
})

test.each<[string, Record<string, string>, Record<string, string>, RegExp]>([
  ['missing-compose', {}, { composePath: 'ops/compose.yaml' }, /"ops\/compose.yaml".*does not exist/],
  ['missing-dockerfile', {}, { dockerfilePath: 'ops/Dockerfile' }, /"ops\/Dockerfile".*does not exist/],
  [
    'outside',
    { 'compose.yaml': 'services: { web: { build: ../.. } }' },
    {},
    /compose.yaml.*services.web.build.*outside the project/,
  ],
])('a deployment fails with the file and the reason: %s', async (name, files, settings, reason) => {
  const { status, error } = await scene.deployFiles(name, { ...beside, ...files }, settings)
  expect(status).toBe('failed')
  expect(error).toMatchObject({ code: 'plan_failed', message: expect.stringMatching(reason) })
})
