// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the variables are Compose's
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { makeProject } from '../kit/projects.ts'
import { type Scene, setScene } from './scene.ts'

/** Project variables reach the services of a Compose file that name them, or all services when the file names none. */
let scene: Scene
beforeAll(async () => {
  scene = await setScene()
  const { runtime } = scene.instance.drivers
  Object.assign(runtime, { kind: 'docker' })
  // The images of all deployments hold the same files.
  const build = runtime.build.bind(runtime)
  vi.spyOn(runtime, 'build').mockImplementation(async (...args) => ({ ...(await build(...args)), content: 'same' }))
})
afterAll(() => scene?.end())

async function makeStack(name: string, compose: string): Promise<string> {
  const localPath = join(dirname(scene.source), name)
  mkdirSync(localPath)
  writeFileSync(join(localPath, 'compose.yaml'), compose)
  writeFileSync(join(localPath, 'Dockerfile'), 'FROM scratch\n')
  return (await makeProject(scene.instance, scene.people.admin.token, { localPath })).id
}

async function setVariables(id: string, variables: Record<string, string>) {
  const upserts = Object.entries(variables).map(([key, value]) => ({ key, value, isSecret: key.endsWith('PASSWORD') }))
  const { status } = await scene.request('PATCH /projects/:id/env', id, { body: { environment: 'production', upserts } })
  expect(status).toBe(200)
}

/** Deploys, and returns the instance and the variables of each service that runs then. */
async function deploy(id: string) {
  expect(await scene.settled(await scene.deploy(id))).toMatchObject({ status: 'live', error: null })
  const { running } = scene.instance.drivers.runtime
  const own = [...running.values()].filter(({ request }) => request.owner.projectId === id)
  const named = own.map(({ request }) => [request.service, { id: request.instanceId, env: request.env }] as const)
  return Object.fromEntries(named) as Record<string, { id: string; env: Record<string, string> }>
}

const stack = `
x-common: &common { build: . }
services:
  web: { <<: *common, ports: ['80'], environment: ['GREETING', 'TITLE=\${TITLE:-none}'] }
  worker: { <<: *common, environment: { QUEUE: '\${QUEUE-jobs}' } }
  helper: { extends: worker }
  db: { <<: *common, environment: { PASSWORD: '\${DB_PASSWORD}' }, volumes: ['data:/data'] }
volumes: { data: {} }
`

test('a variable reaches the services that name it; a new one for the web does not restart the database', async () => {
  const id = await makeStack('named', stack)
  await setVariables(id, { DB_PASSWORD: 'one', QUEUE: 'mail' })
  const before = await deploy(id)
  expect(before.db!.env).toMatchObject({ PASSWORD: 'one' })
  for (const name of ['web', 'worker', 'helper']) expect(before[name]!.env).not.toHaveProperty('DB_PASSWORD')
  expect(before.helper!.env).toMatchObject({ QUEUE: 'mail' })
  expect(before.db!.env).not.toHaveProperty('QUEUE')

  await setVariables(id, { GREETING: 'hello', TITLE: 'Shop', UNNAMED: 'x' })
  const after = await deploy(id)
  expect(after.web!.env).toMatchObject({ GREETING: 'hello', TITLE: 'Shop' })
  for (const name of ['worker', 'helper', 'db']) {
    expect(after[name]!.env).not.toHaveProperty('GREETING')
    expect(after[name]!.env).not.toHaveProperty('UNNAMED')
  }
  expect(after.db!.id).toBe(before.db!.id)

  await setVariables(id, { DB_PASSWORD: 'two' })
  const changed = await deploy(id)
  expect(changed.db!.env).toMatchObject({ PASSWORD: 'two' })
  expect(changed.db!.id).not.toBe(before.db!.id)
})

test.each([
  ['no variable', 'services: { web: { build: ., ports: ["80"] }, worker: { build: . } }'],
  [
    'only an env file that the source does not hold',
    'services: { web: { build: ., ports: ["80"], env_file: .env }, worker: { build: ., env_file: .env, environment: { A: "$QUEUE" } } }',
  ],
])('all services get all variables if the file names %s', async (name, compose) => {
  const id = await makeStack(name.replaceAll(' ', '-'), compose)
  await setVariables(id, { GREETING: 'hello', QUEUE: 'mail' })
  const services = await deploy(id)
  for (const service of ['web', 'worker']) expect(services[service]!.env).toMatchObject({ GREETING: 'hello', QUEUE: 'mail' })
})
