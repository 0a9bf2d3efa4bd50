// gate: also on PostgreSQL, since it runs SQL that no other file of the gate runs
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { BuildRequest } from '../../src/drivers/runtime/runtime.ts'
import { call } from '../kit/call.ts'
import { makeProject } from '../kit/projects.ts'
import { type Scene, setScene } from './scene.ts'

let scene: Scene
let requests: BuildRequest[] = []
beforeAll(async () => {
  scene = await setScene()
  scene.instance.drivers.runtime.whileBuilding = async (request) => void requests.push(request)
})
afterEach(() => {
  requests = []
})
afterAll(() => scene.end())

/** An engine that builds Dockerfiles and runs images. */
async function onDocker<T>(work: () => Promise<T>): Promise<T> {
  const runtime = scene.instance.drivers.runtime as { kind: string }
  Object.assign(runtime, { kind: 'docker' })
  try {
    return await work()
  } finally {
    Object.assign(runtime, { kind: 'process' })
  }
}

test('build arguments and the build stage are settings; the runtime knows which variables are secret', async () => {
  const { instance, people } = scene
  const fields = { dockerfilePath: 'Dockerfile', buildArgs: { VERSION: '1.2' }, buildTarget: 'web' }
  const first = await onDocker(() => scene.deployFiles('staged', { Dockerfile: 'FROM scratch AS web\n' }, fields))
  const id = first.projectId
  const upserts = [
    { key: 'PLAIN', value: 'p', isSecret: false },
    { key: 'TOKEN', value: 's', isSecret: true },
  ]
  await call(instance, people.admin.token, 'PATCH /projects/:id/env', { params: { id }, body: { upserts } })
  await onDocker(async () => scene.settled(await scene.deploy(id)))
  expect(requests.slice(1)).toMatchObject([
    { plan: { kind: 'dockerfile', buildArguments: { VERSION: '1.2' }, dockerTarget: 'web' }, secretKeys: ['TOKEN'] },
  ])
})

test('a disk that is full during a build fails the deployment with that reason', async () => {
  const { runtime } = scene.instance.drivers
  const { whileBuilding } = runtime
  runtime.whileBuilding = async () => {
    throw Object.assign(new Error('ENOSPC: no space left on device, mkdir'), { code: 'ENOSPC' })
  }
  try {
    const { id } = await scene.makeApp()
    const { status, error } = await scene.settled(await scene.deploy(id))
    expect([status, error?.code, error?.message]).toEqual(['failed', 'storage_full', expect.stringContaining('No space left')])
  } finally {
    runtime.whileBuilding = whileBuilding
  }
})

describe('a missing artifact', () => {
  test('is built again from its source when the project is started, without a deployment', async () => {
    const { instance } = scene
    const { id } = await scene.makeApp()
    const deploymentId = await scene.deploy(id)
    await scene.settled(deploymentId)
    await scene.request('POST /projects/:id/disable', id, {}, scene.people.admin.token)
    instance.drivers.runtime.artifacts.clear()
    requests = []
    const enabled = await scene.request('POST /projects/:id/enable', id, {}, scene.people.admin.token)
    expect(enabled.status).toBe(200)
    await expect.poll(async () => (await scene.request('GET /projects/:id', id)).body.data.status).toBe('live')
    expect(requests.map(({ owner }) => owner.deploymentId)).toEqual([deploymentId])
    const { body } = await scene.request('GET /deployments/:id/logs', deploymentId)
    expect(JSON.stringify(body)).toMatch(/does not exist any more: building it again from source/)
  })

  test('is built again for a rollback', async () => {
    const { instance } = scene
    const { id } = await scene.makeApp()
    const first = await scene.deploy(id)
    await scene.settled(first)
    await scene.settled(await scene.deploy(id))
    instance.drivers.runtime.artifacts.delete(`memory/${first}`)
    requests = []
    const answer = await scene.request('POST /deployments/:id/rollback', first)
    expect(await scene.settled(answer.body.data.deploymentId)).toMatchObject({ status: 'live', error: null })
    expect(requests).toHaveLength(1)
  })

  test('whose source is missing too fails with both reasons', async () => {
    const { instance, people } = scene
    const deployed = await scene.deployFiles('short-lived', {
      'package.json': JSON.stringify({ name: 'short', scripts: { start: 'node server.js' } }),
      'server.js': '',
    })
    const second = await scene.settled(await scene.deploy(deployed.projectId))
    instance.drivers.runtime.artifacts.delete(`memory/${deployed.id}`)
    await instance.database.db
      .updateTable('deployments')
      .set({ source: JSON.stringify({ kind: 'local', path: `${scene.source}/nowhere` }) })
      .where('id', '=', deployed.id)
      .execute()
    const answer = await scene.request('POST /deployments/:id/rollback', deployed.id, {}, people.member.token)
    expect(await scene.settled(answer.body.data.deploymentId)).toMatchObject({
      status: 'failed',
      error: { code: 'source_failed', message: expect.stringMatching(/does not exist any more, and could not be built again: /) },
    })
    expect((await scene.request('GET /deployments/:id', second.id)).body.data.status).toBe('live')
  })
})

test('a service with an image id is refused', async () => {
  const { instance, people } = scene
  const services = [{ name: 'web', image: `sha256:${'ab'.repeat(32)}`, ports: [80] }]
  const { id } = await makeProject(instance, people.admin.token, { type: 'services', services })
  const deployment = await onDocker(async () => scene.settled(await scene.deploy(id)))
  expect(deployment).toMatchObject({
    status: 'failed',
    error: {
      code: 'plan_failed',
      message: 'The service web names its image by an id. Use a name and a tag, such as nginx:1.29.',
    },
  })
})

test('running as root is a warning in the log and the record of the deployment', async () => {
  const { runtime } = scene.instance.drivers
  const { id } = await scene.makeApp()
  expect(await scene.settled(await scene.deploy(id))).toMatchObject({ warnings: [] })
  runtime.runsAsRoot = true
  const warned = await scene.settled(await scene.deploy(id))
  runtime.runsAsRoot = false
  const warning = 'The app runs as root inside its container. Add USER to its Dockerfile, or user to the service.'
  expect(warned).toMatchObject({ status: 'live', warnings: [warning] })
  expect(JSON.stringify((await scene.request('GET /deployments/:id/logs', warned.id)).body)).toContain(`Warning: ${warning}`)
})

test('deleting a project removes all remains of its builds', async () => {
  const { instance, people } = scene
  const { runtime } = instance.drivers
  const { id } = await scene.makeApp()
  await scene.settled(await scene.deploy(id))
  runtime.buildCache.set(id, 500).set('prj_other', 500)
  const answer = await scene.request('DELETE /projects/:id', id, {}, people.owner.token)
  expect(answer.status).toBeLessThan(300)
  await expect.poll(() => [...runtime.buildCache.keys()]).toEqual(['prj_other'])
  expect([...runtime.artifacts.values()].filter(({ projectId }) => projectId === id)).toEqual([])
})
