import { afterAll, beforeAll, expect, test } from 'vitest'
import type { UpstreamsTarget } from '../../src/edge-proxy/protocol/edge-table.ts'
import { type Scene, setScene } from './scene.ts'

/** A Compose file runs as it is written, or is refused by the line that cannot be run. */
let scene: Scene
beforeAll(async () => {
  scene = await setScene()
  Object.assign(scene.instance.drivers.runtime, { kind: 'docker' })
})
afterAll(() => scene?.end())

const image = { Dockerfile: 'FROM scratch' }
const requestsOf = (projectId: string) =>
  [...scene.instance.drivers.runtime.running.values()]
    .map(({ request }) => request)
    .filter(({ owner }) => owner.projectId === projectId)
    .sort((left, right) => left.service.localeCompare(right.service))

test('services of the profiles that composeProfiles names run, and no others', async () => {
  const files = {
    ...image,
    'compose.yaml': `
services:
  web: { build: ., ports: ['80:3000'] }
  debug: { build: ., profiles: [dev] }
  seed: { build: ., profiles: [test] }
`,
  }
  const none = await scene.deployFiles('without', files)
  expect(requestsOf(none.projectId).map(({ service }) => service)).toEqual(['web'])
  const dev = await scene.deployFiles('with', files, { composeProfiles: ['dev'] })
  expect(requestsOf(dev.projectId).map(({ service }) => service)).toEqual(['debug', 'web'])
})

test('a scaled service has the given number of instances, all upstreams of the edge, and each is restarted', async () => {
  const files = {
    ...image,
    'compose.yaml': "services:\n  web: { build: ., ports: ['80:3000'], scale: 3 }\n  job: { build: . }\n",
  }
  const { status, projectId } = await scene.deployFiles('scaled', files)
  expect(status).toBe('live')
  const web = requestsOf(projectId).filter(({ service }) => service === 'web')
  expect(new Set(web.map(({ instanceId }) => instanceId)).size).toBe(3)
  expect(web[0]?.network?.services).toBe(4)
  const targets = Object.values(scene.instance.drivers.edge.table.hosts).map(({ target }) => target as UpstreamsTarget)
  const upstreams = targets.find((target) => target.projectId === projectId)?.upstreams.map(({ id }) => id)
  expect(upstreams?.toSorted()).toEqual(web.map(({ instanceId }) => instanceId).sort())
  const { deploymentId } = web[0]!.owner
  const again = await scene.settled(await scene.deploy(projectId, { force: true }))
  expect(again.status).toBe('live')
  await expect.poll(() => requestsOf(projectId).filter(({ owner }) => owner.deploymentId === deploymentId)).toEqual([])
  expect(requestsOf(projectId)).toHaveLength(4)
})

test('the content of configs and the variables of secrets are files of the container, and no plan holds a secret', async () => {
  const files = {
    ...image,
    'compose.yaml': `
services:
  web:
    build: .
    ports: ['80:3000']
    configs: [{ source: conf, target: /etc/app.conf }]
    secrets: [{ source: token, mode: 0400 }]
configs: { conf: { content: "host=\${HOST_NAME}" } }
secrets: { token: { environment: API_TOKEN } }
`,
  }
  const { projectId } = await scene.deployFiles('files', files)
  const upserts = [
    { key: 'HOST_NAME', value: 'db.internal' },
    { key: 'API_TOKEN', value: 'tok-4f9c2a77', isSecret: true },
  ]
  const body = { environment: 'production', upserts }
  expect((await scene.request('PATCH /projects/:id/env', projectId, { body }, scene.people.admin.token)).status).toBe(200)
  const { status, id } = await scene.settled(await scene.deploy(projectId))
  expect(status).toBe('live')
  const [web] = requestsOf(projectId)
  expect(web?.files).toEqual([
    { path: '/etc/app.conf', content: 'host=db.internal', mode: 0o444, uid: 0, gid: 0 },
    { path: '/run/secrets/token', content: 'tok-4f9c2a77', mode: 0o400, uid: 0, gid: 0 },
  ])
  const { plan } = await scene.instance.database.db
    .selectFrom('deployments')
    .select('plan')
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  expect(plan).not.toContain('tok-4f9c2a77')
})

test.each([
  ['mac_address: 02:42:ac:11:65:43', 4],
  ['extra_hosts: ["host.docker.internal:host-gateway"]', 4],
  ['networks: { default: { ipv4_address: 10.0.0.9 } }', 4],
])('%s fails the deployment and names the line', async (field, line) => {
  const files = { ...image, 'compose.yaml': `services:\n  web:\n    build: .\n    ${field}\n` }
  const { status, error } = await scene.deployFiles(`refused-${field.slice(0, 3)}`, files)
  expect(status).toBe('failed')
  expect(error).toMatchObject({
    code: 'plan_failed',
    message: expect.stringContaining(`compose.yaml, line ${line}: services.web.`),
  })
})
