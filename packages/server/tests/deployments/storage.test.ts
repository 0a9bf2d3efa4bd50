import { afterAll, beforeAll, expect, test } from 'vitest'
import { call } from '../kit/call.ts'
import { type Scene, setScene } from './scene.ts'

let scene: Scene
beforeAll(async () => {
  scene = await setScene()
})
afterAll(() => scene.end())

const read = () => call(scene.instance, scene.people.owner.token, 'GET /instance/storage', {})
const cleanUp = () => call(scene.instance, scene.people.owner.token, 'POST /instance/storage/clean-up', {})

test('operators see the disk use of builds by location and project', async () => {
  const { id } = await scene.makeApp()
  await scene.settled(await scene.deploy(id))
  scene.instance.drivers.runtime.buildCache.set(id, 700).set('prj_00000000000000000000', 300)
  const { status, body } = await read()
  expect(status).toBe(200)
  expect(body.data.places).toEqual([
    {
      serverId: null,
      error: null,
      artifactsBytes: 1,
      cacheBytes: 1000,
      cacheMaxBytes: 10_000,
      disk: { totalBytes: 1_000_000, freeBytes: 400_000 },
      projects: [
        { projectId: id, name: expect.any(String), artifactsBytes: 1, cacheBytes: 700 },
        { projectId: 'prj_00000000000000000000', name: null, artifactsBytes: 0, cacheBytes: 300 },
      ],
    },
  ])
})

test('403 for a user who is not an operator: GET /instance/storage', async () => {
  for (const { token } of [scene.people.member, scene.people.viewer])
    expect((await call(scene.instance, token, 'GET /instance/storage', {})).status).toBe(403)
})

test('a clean-up removes unused artifacts and the cache; live artifacts and rollback targets are kept', async () => {
  const { runtime } = scene.instance.drivers
  const { id } = await scene.makeApp()
  const first = await scene.settled(await scene.deploy(id))
  const second = await scene.settled(await scene.deploy(id))
  const lost = { kind: 'folder', sizeBytes: 50, startCommand: null } as const
  runtime.artifacts.set('memory/dep_lost', { ...lost, reference: 'memory/dep_lost', projectId: id, deploymentId: 'dep_lost' })
  runtime.artifacts.set('memory/dep_gone', {
    ...lost,
    ...{ reference: 'memory/dep_gone', projectId: 'prj_11111111111111111111', deploymentId: 'dep_gone' },
  })
  runtime.buildCache.set(id, 400)
  const { status, body } = await cleanUp()
  expect(status).toBe(200)
  expect(body.data.freedBytes).toBeGreaterThanOrEqual(500)
  expect(body.data.places[0]).toMatchObject({ cacheBytes: 0 })
  const left = [...runtime.artifacts.keys()]
  expect(left).toEqual(expect.arrayContaining([`memory/${first.id}`, `memory/${second.id}`]))
  expect(left).not.toContain('memory/dep_lost')
  expect(left).not.toContain('memory/dep_gone')
  expect((await cleanUp()).body.data.freedBytes).toBe(0)
})

test('a location that does not answer is listed with the reason, and the others are cleaned up', async () => {
  const { runtime } = scene.instance.drivers
  const { storage } = runtime
  runtime.storage = async () => {
    throw new Error('The Docker engine did not answer within 60 s')
  }
  try {
    const { status, body } = await read()
    expect(status).toBe(200)
    expect(body.data.places).toMatchObject([{ serverId: null, error: 'The Docker engine did not answer within 60 s' }])
    expect((await cleanUp()).status).toBe(200)
  } finally {
    runtime.storage = storage
  }
})
